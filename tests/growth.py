"""How work grows with what it is given, told apart from the noise of a busy machine."""

import gc
import time
from collections.abc import Callable

TIMES = 10
STEEP = TIMES**1.5  # halfway between in step with the size (ten times) and with its square (a hundred times)


def grows_in_step(work: Callable[[int], object], size: int) -> bool:
    """Whether `work` on `size` costs about ten times what a tenth of it costs, in the best of three tries."""
    work(size // TIMES)  # what loads with the first text
    small = min(_spent(work, size // TIMES) for _ in range(3))
    return any(_spent(work, size) < STEEP * small for _ in range(3))


def _spent(work: Callable[[int], object], size: int) -> float:
    gc.disable()  # what else the process holds is not this work's
    try:
        began = time.process_time()
        work(size)
        return time.process_time() - began
    finally:
        gc.enable()
