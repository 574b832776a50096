"""What chapter 4 finds of statements of the sources about Swin."""

from functools import partial

from vitbias.claims.record import Answer

__all__ = ["ANSWERS"]

_answer = partial(Answer, chapter="04_swin_locality")

ANSWERS = (
    _answer(
        id="R4.5",
        says="The counts are of candidate pairs and reproduce no benchmark and no latency.",
        verdict="scope note",
        finding="So they are read here. Swin's own times differ sixteenfold for equal graphs.",
        settled_by=("R4.6",),
    ),
    _answer(
        id="L5.1",
        says="Attention in windows of M tokens a side costs 4hwC² + 2M²hwC, with M = 7 as the default.",
        verdict="needs an assumption",
        finding="Windows have to tile the grid; it is Swin's second equation. A layer of the first stage of "
        "Swin-T costs 145,108,992 against 2,003,828,736 with global attention.",
        settled_by=("R4.2",),
    ),
    _answer(
        id="L5.2",
        says="With windows alone nothing is exchanged between them; the receptive field is locked to one.",
        verdict="scope note",
        finding="True of window attention alone, which is what the essay says. In Swin patch merging mixes "
        "windows too: without any shift Swin-T is global after block 11, and has 80.2 % in the paper.",
        settled_by=("R4.3", "R9.4"),
        also=("X22",),
    ),
    _answer(
        id="L5.3",
        says="The second partition is displaced by half a window, rounded down, in both directions.",
        verdict="holds",
        finding="3 tokens for windows of 7. Where one window holds the grid, released code takes no shift.",
        settled_by=("R4.1",),
    ),
    _answer(
        id="L5.4",
        says="A new window straddles the borders of four windows before.",
        verdict="needs an assumption",
        finding="Inside the grid. At an edge it joins two, and the corner pieces lie in one.",
        settled_by=("R4.4",),
    ),
    _answer(
        id="L5.5",
        says="Two layers in a row let information cross windows, at the same cost for each token.",
        verdict="holds, sharpened",
        finding="With the cyclic shift: the blocks of Swin-T compute 446,586 pairs, of which the masks leave "
        "407,130. Cut without rolling, a grid of two windows a side has nine in place of four, 2.25 "
        "times the work.",
        settled_by=("R4.4",),
    ),
    _answer(
        id="L5.6",
        says="Patches of 4, four stages at strides 4, 8, 16 and 32, and merging of 2 x 2 tokens, 4C to 2C.",
        verdict="holds",
        finding="As in section 3.1 of the paper. Each merging maps 4C values to 2C and loses at least 2C "
        "directions of each merged token.",
        settled_by=("R4.1", "T17"),
    ),
    _answer(
        id="L5.7",
        says="Its resolutions are those of convolutional backbones, so it can replace them in detectors.",
        verdict="holds",
        finding="The paper says so (section 3.1) and does it with other detectors (section 4.2).",
        settled_by=("R4.1",),
    ),
    _answer(
        id="L5.8",
        says="56 x 56 tokens would cost about 256 times the quadratic term of ViT-B/16.",
        verdict="holds, sharpened",
        finding="256 exactly, 16 squared, at equal width. At Swin-T's own width of 96 it is 32 times.",
        settled_by=("R4.2", "V4.1"),
    ),
    _answer(
        id="L5.9",
        says="Swin won the best paper award of ICCV 2021.",
        verdict="scope note",
        finding="It did, the Marr Prize, as its repository records. A prize settles no statement here.",
        settled_by=(),
    ),
)
