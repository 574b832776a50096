"""What chapter 2 finds of statements of the sources."""

from functools import partial

from vitbias.claims.record import Answer

__all__ = ["ANSWERS"]

_answer = partial(Answer, chapter="02_vit_reference")

ANSWERS = (
    _answer(
        id="B1.1",
        says="ViT was the first to bring the Transformer to vision with success, against the rule of CNNs.",
        verdict="needs an assumption",
        finding="It was the first success of a plain Transformer in classification at a large scale. "
        "Attention and Transformers were used on pictures before, also on patches of 2 × 2 pixels; the "
        "essay says so. The overview's word 'successfully' belongs to its statement.",
        settled_by=("V2.4", "R2.2"),
        also=("X5",),
    ),
    _answer(
        id="B1.3",
        says="ViT showed that with enough data and compute a Transformer can beat the best CNN in "
        "classification.",
        verdict="holds",
        finding="In the paper's setting, with JFT: 88.55 against 88.4, or 88.5 from a later work, for the "
        "best convolutional network of its table 2.",
        settled_by=("R2.2",),
    ),
    _answer(
        id="B2.1",
        says="A picture of 224 pixels a side has 50,176 pixels, and as many tokens if each is one.",
        verdict="holds",
        finding="It is 224 squared.",
        settled_by=("R2.1",),
    ),
    _answer(
        id="B2.2",
        says="Attention between all pixels would need about 2.5 billion pairs.",
        verdict="holds",
        finding="It is 50,176 squared, or 2,517,630,976 pairs for each head of each block.",
        settled_by=("R2.1",),
    ),
    _answer(
        id="B2.3",
        says="Language models such as BERT read about 512 tokens.",
        verdict="holds",
        finding="BERT was pre-trained on sequences of up to 512 tokens.",
        settled_by=("V2.4",),
    ),
    _answer(
        id="B2.4",
        says="A patch of 16 × 16 pixels has 768 values, and a picture of 224 pixels has 196 patches.",
        verdict="holds",
        finding="It is 16² · 3 and 14².",
        settled_by=("R2.1", "V2.3"),
    ),
    _answer(
        id="B2.5",
        says="Pictures are reshaped to (B, 14, 14, 16, 16, 3), then to (B, 196, 768).",
        verdict="loose",
        finding="As names of axes this is right. As two reshapes it gives strips of rows and not one right "
        "patch: split to (B, 14, 16, 14, 16, 3) and transpose. The overview's code unfolds correctly, with "
        "channels slowest, an order that the projection absorbs.",
        settled_by=("V2.2", "T4"),
    ),
    _answer(
        id="B2.6",
        says="196 patches become 197 tokens with the class token, pass all blocks, and 1,000 logits leave.",
        verdict="holds",
        finding="The walk through ViT-B/16's widths has these shapes.",
        settled_by=("R2.1",),
    ),
    _answer(
        id="B2.7",
        says="A sketch of one line has a block as attention, then MLP, then sum and normalisation.",
        verdict="wrong",
        finding="ViT normalises before attention and before the MLP, and adds after each. The overview's "
        "text on stability says so too: its sketch and its text disagree, and the text is right.",
        settled_by=("R2.1",),
        also=("X7",),
    ),
    _answer(
        id="B2.8",
        says="Inside a patch the planar relations of pixels are lost, since it is flattened.",
        verdict="wrong",
        finding="Flattening is a reordering, and nothing is lost by it. What a plain ViT lacks is a built-in "
        "preference for neighbouring pixels. The overview allows that data can teach the structure.",
        settled_by=("T4",),
        also=("X1",),
    ),
    _answer(
        id="B2.9",
        says="A patch token does not know places inside the patch, and a standard ViT cannot recover them.",
        verdict="needs an assumption",
        finding="Only a projection of rank below D loses something: B/32 and DeiT-Ti or S must, B/16 need "
        "not. Each pixel has a column of its own, so its place counts.",
        settled_by=("T4", "R2.5"),
    ),
    _answer(
        id="B2.10",
        says="The table of positions has one row for each patch, (196, 768).",
        verdict="loose",
        finding="The rows of patches are 196; with the class token's row the table has 197, as the "
        "overview's own flow of shapes has it.",
        settled_by=("R2.1",),
        also=("X8",),
    ),
    _answer(
        id="B2.12",
        says="CvT and ConViT put a convolution before the embedding.",
        verdict="loose",
        finding="Loosely true of CvT, which replaces the embedding by an overlapping convolution at every "
        "stage. Wrong for ConViT: it has no such layer, its attention starts out local.",
        settled_by=("V2.3",),
    ),
    _answer(
        id="B2.13",
        says="Swin keeps the spatial structure inside a patch.",
        verdict="wrong",
        finding="Swin flattens its patches of 4 × 4 pixels as ViT does; they are only finer. If a patch "
        "means an area of 16 × 16 pixels, Swin keeps it as a grid of 4 × 4 tokens, and the statement holds.",
        settled_by=("V2.3", "T4"),
        also=("X9",),
    ),
    _answer(
        id="B2.14",
        says="Later models use coordinates, relative positions or a hierarchy of tokens.",
        verdict="holds",
        finding="Swin has relative positions and a hierarchy; chapter 8 compares the schemes.",
        settled_by=("R4.1", "V2.3"),
    ),
    _answer(
        id="B2.15",
        says="CNNs model locally and widen with depth; ViT models globally from the first layer.",
        verdict="holds",
        finding="One global block can reach every token. It is permitted, not forced: the paper finds heads "
        "that attend far and heads that stay local in its lowest layers (section 4.5).",
        settled_by=("R9.1",),
    ),
    _answer(
        id="X2",
        says="A Transformer has no particularly strong bias; a ViT has no prior of a CNN, no inductive bias.",
        verdict="loose",
        finding="'No particularly strong' is fair of image-specific bias. 'None' is too strong: the paper "
        "writes 'much less', and patches, shared maps and interpolation stay.",
        settled_by=("R2.3",),
        source="the overview",
    ),
    _answer(
        id="L1.1",
        says="A patch embedding multiplies P²C values by a learned matrix of that height.",
        verdict="holds",
        finding="Equation 1 of the paper; here the matrix stands transposed.",
        settled_by=("R2.1",),
    ),
    _answer(
        id="L1.2",
        says="There are HW/P² tokens and one class token.",
        verdict="holds",
        finding="So it is in section 3.1, and in the executed pass.",
        settled_by=("R2.1",),
    ),
    _answer(
        id="L1.3",
        says="Resolution and patch size fix the number of tokens, which cannot be adjusted afterwards.",
        verdict="needs an assumption",
        finding="It holds for a plain ViT. Merging, pruning and flexible patches change the number; the "
        "essay names some of them itself.",
        settled_by=("R2.1", "R4.1"),
        also=("X23",),
    ),
    _answer(
        id="L4.1",
        says="A class token is not needed: the mean did worse only because of the learning rate.",
        verdict="holds",
        finding="So says appendix D.3 of the paper: both work similarly well, at different learning rates.",
        settled_by=("V2.5",),
    ),
    _answer(
        id="X28a",
        says="The first layer of a ViT projects flattened patches into a space of lower dimension.",
        verdict="loose",
        finding="True of L/32, which the next sentence shows, and of B/32; not of B/16, L/16 and H/14.",
        settled_by=("R2.5",),
        source="the paper of ViT, section 4.5",
    ),
    _answer(
        id="RE.15",
        says="ViT is read in its second arXiv version of June 2021; it was published at ICLR 2021.",
        verdict="holds",
        finding="The head of arXiv:2010.11929v2 says 3 June 2021; the first version is of October 2020.",
        settled_by=("R2.1",),
    ),
    _answer(
        id="RE.16",
        says="DeiT is in the proceedings of ICML 2021.",
        verdict="holds",
        finding="PMLR 139, pages 10347 to 10357.",
        settled_by=("R3.1",),
    ),
    _answer(
        id="RE.17",
        says="Swin is read in its second arXiv version.",
        verdict="holds",
        finding="arXiv:2103.14030v2, of August 2021.",
        settled_by=("R4.1",),
    ),
    _answer(
        id="RE.18",
        says="Results of ViT hang on data and training, DeiT's on its teacher, Swin's cost on fixed windows.",
        verdict="scope note",
        finding="The chapters state these conditions beside the results.",
        settled_by=("R2.3", "R3.1", "R4.2"),
    ),
    _answer(
        id="RE.19",
        says="The review was written and checked by its author alone, and its records are no full audit.",
        verdict="scope note",
        finding="The book therefore cites the papers, not the review.",
        settled_by=(),
    ),
)
