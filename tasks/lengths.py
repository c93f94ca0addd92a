"""Which lengths a task has, and whether one evaluation tells of all of them."""

from tasks.base import Task


def valid_lengths(task: Task, longest: int) -> list[int]:
    """The lengths from 1 to `longest` that the task has sequences of."""
    return [length for length in range(1, longest + 1) if has_length(task, length)]


def has_length(task: Task, length: int) -> bool:
    try:
        task.check_length(length)
    except ValueError:
        return False
    return True


def is_prefix_closed(task: Task) -> bool:
    """Whether a sequence cut at a shorter valid length is one of that length, in its targets and in how likely it is.

    Then accuracy at every length up to T follows from the counts by position of one evaluation at T: at length t it is the share of
    right answers among the first t positions. A task says so with a class attribute `prefix_closed`.
    """
    return getattr(task, "prefix_closed", False)
