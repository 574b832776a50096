"""What chapter 6 finds of statements of the sources about patch size, cost and memory."""

from functools import partial

from vitbias.claims.record import Answer

__all__ = ["ANSWERS"]

_answer = partial(Answer, chapter="06_patch_size")

ANSWERS = (
    _answer(
        id="L1.4",
        says="A table of common combinations of picture and patch sides gives their numbers of tokens.",
        verdict="scope note",
        finding="In the copy at hand the table is lost, which is no error of the essay. Recomputed it reads "
        "49, 196, 256 and 784 tokens at 224 pixels for patches of 32, 16, 14 and 8; 4,096 at 1,024 for 16.",
        settled_by=("R6.1",),
    ),
    _answer(
        id="L1.5",
        says="Attention costs 4hwC² + 2(hw)²C.",
        verdict="holds",
        finding="Four maps and two products, softmax and biases left out, for any number of heads; it is "
        "Swin's first equation.",
        settled_by=("T16",),
    ),
    _answer(
        id="L1.6",
        says="Half the patch side means four times the tokens, and attention compute and memory times 16.",
        verdict="needs an assumption",
        finding="Exact for the pairs and for the bytes of their scores. With its maps the layer of a ViT-B "
        "grows 5.36 times and the block 4.49 times. The essay says that its curve is the quadratic term.",
        settled_by=("T27", "V4.1"),
        also=("X17",),
    ),
    _answer(
        id="L1.7",
        says="From 224 to 1,024 pixels the side grows 4.57 times and the area 20.9 times.",
        verdict="holds",
        finding="32/7 and 1024/49, so 4.571 and 20.90.",
        settled_by=("V4.1",),
    ),
    _answer(
        id="L1.8",
        says="Full attention at patches of 16 grows 437 times from 224 to 1,024 pixels.",
        verdict="holds, sharpened",
        finding="The quadratic term grows 436.7 times, as the essay labels it; the layer of a ViT-B 68.0 and "
        "its block 37.9 times.",
        settled_by=("V4.1",),
    ),
    _answer(
        id="L1.9",
        says="With patches of 32 the cost rises to 27 times only.",
        verdict="scope note",
        finding="27.3 is a level on the essay's common scale, patches of 16 at 224 pixels, as it says. "
        "The curve itself starts at 1/16 and grows 436.7 times like the other.",
        settled_by=("V4.1",),
        also=("X15",),
    ),
    _answer(
        id="L1.10",
        says="Twice the patch side halves the base of the quadratic term; cost falls as the fourth power.",
        verdict="scope note",
        finding="Right if the base is the side of the grid. The number of tokens is quartered; pairs fall to "
        "a sixteenth either way.",
        settled_by=("T27",),
        also=("X18",),
    ),
    _answer(
        id="L1.11",
        says="Windows of 7 tokens at patches of 16 rise to 5.2 times only.",
        verdict="scope note",
        finding="5.22 is what Swin's second equation gives on the common scale; the curve starts at 1/4 and "
        "grows 20.9 times. 64 is no multiple of 7: padded, as Swin's footnote 4 says, the level is 6.25, "
        "ragged 5.09.",
        settled_by=("V4.1", "R6.5", "T26"),
        also=("X16",),
    ),
    _answer(
        id="L1.12",
        says="The curve of the windows is linear in the number of tokens.",
        verdict="needs an assumption",
        finding="On grids that the window divides. The padded count is a staircase, up to 3.06 times the "
        "line at eight tokens a side.",
        settled_by=("T27", "T26"),
    ),
    _answer(
        id="L1.13",
        says="A score map has 3.88e4 entries at 197 tokens and 1.68e7 at 4,096.",
        verdict="holds",
        finding="38,809 and 16,777,216.",
        settled_by=("V6.1",),
    ),
    _answer(
        id="L1.14",
        says="At 224 pixels the maps of 12 layers and 12 heads in 2 bytes take 13.6 MB.",
        verdict="wrong",
        finding="The formula beside it gives 11,176,992 bytes, 11.2 MB or 10.7 MiB. No number of tokens near "
        "197 gives 13.6 MB.",
        settled_by=("V6.1",),
        also=("X13",),
    ),
    _answer(
        id="L1.15",
        says="At 1,024 pixels, with 4,096 tokens, they take 4.8 GB.",
        verdict="holds, sharpened",
        finding="4,831,838,208 bytes, exactly 4.5 GiB. The line for 224 pixels counts the class token and "
        "this one does not; with it there are 0.05 % more.",
        settled_by=("V6.1",),
        also=("X14",),
    ),
    _answer(
        id="L1.16",
        says="The backward pass has to keep the weights of every layer and head, or to recompute them.",
        verdict="holds, sharpened",
        finding="The second half is what fused kernels do: they keep one number a row. So the wall belongs "
        "to an implementation that writes the maps down; the number of operations stays quadratic.",
        settled_by=("V6.1",),
    ),
    _answer(
        id="L1.17",
        says="The curves are derived from formulas and not measured; a script recomputes them.",
        verdict="scope note",
        finding="They are recomputed here; the script is not in the copy at hand.",
        settled_by=("V4.1",),
    ),
    _answer(
        id="L7.1",
        says="Window attention does not remove growth with the area of the picture.",
        verdict="holds",
        finding="49 pairs for each token: 20.9 times as many at 1,024 as at 224 pixels.",
        settled_by=("T27", "V4.1"),
    ),
    _answer(
        id="L7.2",
        says="Large patches may mix fine detail inside the projection; small ones lengthen the sequence.",
        verdict="needs an assumption",
        finding="Mixed away only where the width is below the values of a patch, or where the projection is "
        "badly conditioned. The second half holds as it stands.",
        settled_by=("R6.6", "R6.7"),
    ),
)
