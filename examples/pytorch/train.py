"""Handwritten digits, learned by torchrun's workers that come and go.

torchrun starts one process a pod. Whenever a pod joins or leaves, it ends this script in all of
them and starts it again with new ranks and a new world size. The script's part is to go on where
the last checkpoint ended: rank 0 saves it, and tells the others what it found.
"""

import json
import os
import signal
import socket
import sys
import time
from pathlib import Path
from threading import Event

import numpy as np
import torch
from torch import distributed, nn
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

STEPS = int(os.environ.get("EDL_STEPS", "1000"))
STEP_SECONDS = float(os.environ.get("EDL_STEP_SECONDS", "0.1"))
DATA = Path(os.environ.get("EDL_DATA", "/data"))
HOST = socket.gethostname()
CHECKPOINT = DATA / "checkpoints" / "last.pt"
STEPS_A_CHECKPOINT = 10
BATCH = 32  # for each worker
TOLD_TO_LEAVE = 128 + signal.SIGTERM


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    distributed.init_process_group("gloo")
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
    done = resume(model, optimizer)
    tell(f"goes on after step {done} as {place()}")
    done = train(DistributedDataParallel(model), optimizer, done, told_by_sigterm())
    tell(f"ends after step {done}")
    distributed.destroy_process_group()  # its threads would outlive the interpreter
    # Not 0 before the last step: the process ends, but the training is not done.
    sys.exit(0 if done >= STEPS else TOLD_TO_LEAVE)


def told_by_sigterm() -> Event:
    """Set when torchrun ends a world: the step that runs is finished first."""
    told = Event()
    signal.signal(signal.SIGTERM, lambda *_: told.set())
    return told


def train(
    model: DistributedDataParallel, optimizer: torch.optim.Optimizer, done: int, told: Event
) -> int:
    """The steps that are done when it ends: all, or those before a worker was told to leave."""
    images, labels = digits()
    ledger = Ledger()
    ending = done >= STEPS
    while not ending:
        done += 1
        chosen = batch(len(labels), done)
        optimizer.zero_grad()
        loss = cross_entropy(model(images[chosen]), labels[chosen])
        loss.backward()
        optimizer.step()
        mean, leaving = agree(loss.item(), told=told.is_set())
        ending = leaving or done >= STEPS
        if distributed.get_rank() == 0:
            world = distributed.get_world_size()
            ledger.record(step=done, samples=BATCH * world, loss=mean, world=world)
            if ending or done % STEPS_A_CHECKPOINT == 0:
                save(model.module, optimizer, done)
        time.sleep(0 if ending else STEP_SECONDS)
    return done


def digits() -> tuple[torch.Tensor, torch.Tensor]:
    with np.load(Path(__file__).with_name("digits.npz")) as found:  # see the Dockerfile
        images = torch.tensor(found["images"] / 16, dtype=torch.float32)
        return images, torch.tensor(found["labels"])


def batch(images: int, step: int) -> torch.Tensor:
    """This worker's share of a step's images: workers agree on it without a word."""
    order = torch.randperm(images, generator=torch.Generator().manual_seed(step))
    return order[distributed.get_rank() :: distributed.get_world_size()][:BATCH]


def agree(loss: float, *, told: bool) -> tuple[float, bool]:
    """The mean loss, and whether a worker was told to leave: then all end after the same step."""
    both = torch.tensor([loss, float(told)])
    distributed.all_reduce(both)
    total, leaving = both.tolist()
    return total / distributed.get_world_size(), leaving > 0


def resume(model: nn.Module, optimizer: torch.optim.Optimizer) -> int:
    """The number of steps that were saved. All get what rank 0 read: one file, read once."""
    found = [
        torch.load(CHECKPOINT) if distributed.get_rank() == 0 and CHECKPOINT.exists() else None
    ]
    distributed.broadcast_object_list(found)
    (saved,) = found
    if saved is None:
        return 0
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    return int(saved["step"])


def save(model: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> None:
    """Whole or not at all: a reader never finds half a file."""
    CHECKPOINT.parent.mkdir(parents=True, exist_ok=True)
    part = CHECKPOINT.with_name(f"{HOST}-{os.getpid()}.part")
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    torch.save(state, part)
    part.replace(CHECKPOINT)


class Ledger:
    """One JSON object a step, in a file of this process."""

    def __init__(self) -> None:
        folder = DATA / "ledger"
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{HOST}-{time.time_ns()}.jsonl"

    def record(self, **fields: float) -> None:
        line = {"time": time.time(), "who": HOST} | fields
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")


def place() -> str:
    return f"rank {distributed.get_rank()} of {distributed.get_world_size()}"


def tell(what: str) -> None:
    print(f"{HOST} {what}", flush=True)


if __name__ == "__main__":
    main()
