"""What chapter 8 finds of statements of the sources."""

from functools import partial

from vitbias.claims.record import Answer

__all__ = ["ANSWERS"]

_answer = partial(Answer, chapter="08_position_signals")

ANSWERS = (
    _answer(
        id="B5.1",
        says="ViT's table with one index is generated inside the model from rows and columns.",
        verdict="wrong",
        finding="The table is free: every slot has a vector of its own, and at initialisation nothing in "
        "it says where the slot lies (ViT, section 3.1). Read kindly, the index runs over the "
        "grid row by row. Vectors for rows and columns are the paper's 2-D variant (appendix "
        "D.4), at 0.64001 against 0.64206.",
        settled_by=("R8.1", "V8.2", "V8.7"),
        also=("X6",),
    ),
    _answer(
        id="B5.2",
        says="One way to positions in two dimensions: learn a table h x w x D and reshape it to N x D.",
        verdict="holds, sharpened",
        finding="It can be done and changes nothing: the same 150,528 numbers for 14 x 14 slots of width "
        "768, the same function, and no knowledge of neighbours.",
        settled_by=("V8.2",),
    ),
    _answer(
        id="B5.3",
        says="Another way: vectors of width D/2 for rows and for columns, summed or concatenated.",
        verdict="loose",
        finding="Side by side the halves have width D. Summed they have width D/2, so a sum needs tables "
        "of full width. Either way the rank is at most h + w - 1, on 14 x 14 slots 27, where a "
        "free table reaches 196.",
        settled_by=("V8.3",),
    ),
    _answer(
        id="B5.4",
        says="Axial Attention, Swin and BEiT use vectors for rows and columns.",
        verdict="wrong",
        finding="Not Swin and not BEiT: both add a bias by offset to the scores, Swin 169 free numbers a "
        "head for a window of 7 (section 3.2), BEiT's code 732 for 14 x 14 tokens and a class "
        "token. Axial Attention was not checked here.",
        settled_by=("V8.3", "V8.7"),
    ),
    _answer(
        id="B5.5",
        says="Remedies: relative positions or moving windows for positions, T2T or distillation for "
        "locality, DeiT or MAE for cost, PVT or Swin for scale.",
        verdict="loose",
        finding="Fair as a map of the literature. Moving windows are a pattern of connections and no "
        "position signal; in Swin the bias carries position. And relative positions inside a "
        "border give back no translation.",
        settled_by=("R8.3", "T10"),
    ),
    _answer(
        id="L4.2",
        says="ViT learns positions with one index; two-dimensional ones gained nothing significant, "
        "since training finds the grid.",
        verdict="holds",
        finding="ViT's table 8 has 0.64206 and 0.64001, and its section 4.5 shows learned vectors that "
        "resemble those of the same row and column. That this is why nothing was gained is the "
        "paper's reading, not a test.",
        settled_by=("V8.7",),
    ),
    _answer(
        id="L4.3",
        says="The table has one row for each token of training; a picture with more tokens lacks rows.",
        verdict="holds",
        finding="197 rows at 224 pixels and patches of 16; 577 are needed at 384.",
        settled_by=("R8.1",),
    ),
    _answer(
        id="L4.4",
        says="For a larger picture ViT interpolates the table in two dimensions, by place in the "
        "picture.",
        verdict="holds",
        finding="It is in section 3.2 of the paper; the essay cites 3.1. The released code aligns the "
        "corners, interpolates linearly and keeps the class token's row; other releases use other"
        " operators.",
        settled_by=("R8.4", "T11"),
    ),
    _answer(
        id="L4.5",
        says="Sinusoidal and rotary schemes are designed to hold beyond the training length.",
        verdict="interpretation",
        finding="A design aim. Exact is that both are defined at every place, and that rotary scores "
        "depend on offsets wherever the origin lies. That a trained model works at offsets it "
        "never saw does not follow, and nothing here measures it.",
        settled_by=("V8.4", "V8.5"),
    ),
    _answer(
        id="L4.6",
        says="A model that runs after interpolation may still have distorted positions.",
        verdict="holds, sharpened",
        finding="From 14 to 24 slots a side a table of unrelated rows keeps 0.464, 0.758 or 0.693 of its "
        "mean square, by released operator, and the way there and back changes some table by 0.688, 0.143 "
        "or 0.751 of its norm. Smooth tables lose less.",
        settled_by=("R8.4", "T11"),
    ),
    _answer(
        id="R8.9",
        says="These are tests of an interface, not a claim that one policy of positions is better.",
        verdict="scope note",
        finding="So they are read here: survivors, ranks and defects, and no ranking of schemes.",
        settled_by=(),
    ),
)
