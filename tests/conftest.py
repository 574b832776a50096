"""Settings and fixtures of all tests: properties are searched alike in every run."""

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("house", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("house")


@pytest.fixture
def rng():
    return np.random.default_rng(20250713)
