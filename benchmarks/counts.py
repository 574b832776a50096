"""Counting a model, beside torch's counter on meta tensors, fvcore and calflops where they are installed.

What is timed is one count of ViT-B/16: vitbias counts the description, the others a model that timm has built
before. The numbers are compared too: each tool's with what its convention gives. The environment of
`make test-models` has torch and timm; fvcore and calflops are left out where they are not found.
"""

import sys
from collections.abc import Callable
from importlib.util import find_spec
from types import ModuleType

from timing import Row, best, report

from vitbias.conventions import work
from vitbias.counts import macs, params
from vitbias.readers import library_names
from vitbias.readers.catalogue import published
from vitbias.recordings.counters import expected

NAME = "vit_base_patch16_224"


def catalogue() -> int:
    """Every release of timm and torchvision, described and counted."""
    library_names.library_models.cache_clear()
    models = library_names.library_models().values()
    return sum(params(model).total + macs(model).total for model in models)


def peers() -> dict[str, tuple[str, Callable[[], int]]]:
    """By tool: the name of its recorded counter, and one count."""
    missing = [name for name in ("torch", "timm", "fvcore", "calflops") if find_spec(name) is None]
    print("not installed, left out:" if missing else "all peers are installed", *missing)
    if {"torch", "timm"} & set(missing):
        return {}
    # beside a processor's build of torch, torchvision stops at operators that no model here uses
    sys.modules.setdefault("torchvision._meta_registrations", ModuleType("empty"))
    import timm
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with torch.device("meta"):
        model = timm.create_model(NAME).eval()
        picture = torch.empty(1, 3, 224, 224)

    def by_torch() -> int:
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            model(picture)
        return int(counter.get_total_flops())

    found = {"torch, meta tensors": ("torch", by_torch)}
    real, dots = timm.create_model(NAME).eval(), torch.zeros(1, 3, 224, 224)
    if "fvcore" not in missing:
        from fvcore.nn import FlopCountAnalysis

        def by_fvcore() -> int:
            analysis = FlopCountAnalysis(real, dots)
            analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False)
            return int(analysis.total())

        found["fvcore"] = ("fvcore", by_fvcore)
    if "calflops" not in missing:
        from calflops import calculate_flops

        def by_calflops() -> int:
            arguments = {"print_results": False, "output_as_string": False}
            return int(calculate_flops(real, input_shape=(1, 3, 224, 224), **arguments)[1])

        found["calflops"] = ("calflops macs", by_calflops)
    return found


def main() -> None:
    model = published(f"timm:{NAME}")
    ours = best(lambda: (params(model), macs(model)), 25)
    rows = [
        Row("parameters and macs of ViT-B/16", "vitbias", ours, ours),
        Row("its work, by kind", "vitbias", best(lambda: work(model), 25), ours),
        Row("179 releases, described and counted", "vitbias", best(catalogue, 5), ours),
    ]
    for name, (counter, count) in peers().items():
        if count() != expected(counter, model):
            raise AssertionError(
                f"{name}: {count():,} where {expected(counter, model):,} is expected"
            )
        rows.append(Row("operations of ViT-B/16", name, best(count, 3), ours))
    report("Counting; ratio to parameters and macs of ViT-B/16", rows)


if __name__ == "__main__":
    main()
