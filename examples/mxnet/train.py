"""Handwritten digits, learned by MXNet's workers through its key-value store (dist_sync).

One process a pod, the same script for scheduler, servers and workers: DMLC_ROLE says which of them
it is. MXNet lets no worker in or out while it trains, so a new number of workers is a
restart of all. The script's part is to go on where the last checkpoint ended.
"""

import json
import os
import pickle
import signal
import socket
import sys
import threading
import time
from pathlib import Path

TOLD_TO_LEAVE = 128 + signal.SIGTERM
LEAVE_SECONDS = 5.0
STEPS = int(os.environ.get("EDL_STEPS", "1000"))
STEP_SECONDS = float(os.environ.get("EDL_STEP_SECONDS", "0.1"))
DATA = Path(os.environ.get("EDL_DATA", "/data"))
HOST = os.environ.get("HOSTNAME") or socket.gethostname()
CHECKPOINT = DATA / "checkpoints" / "last.pkl"
STEPS_A_CHECKPOINT = 10
STEPS_A_LINE = 100
BATCH = 32  # for each worker
AGREEMENT = 1_000  # its key in the store; the trainer counts its own from 0


def leave_on_sigterm() -> threading.Event:
    """Set on SIGTERM. A process still there LEAVE_SECONDS later is ended: MXNet may wait."""
    leaving = threading.Event()
    ours, pythons = socket.socketpair()
    pythons.setblocking(False)  # noqa: FBT003 - Python's own name
    # Python's own handlers wait until MXNet returns; a thread that reads this need not.
    signal.set_wakeup_fd(pythons.detach())
    signal.signal(signal.SIGTERM, lambda *_: None)

    def listen() -> None:
        ours.recv(1)
        leaving.set()
        time.sleep(LEAVE_SECONDS)
        os._exit(TOLD_TO_LEAVE)

    threading.Thread(target=listen, daemon=True).start()
    return leaving


def end(done: int) -> None:
    """0 only when all steps are made, whatever the role: Kubernetes takes 0 for done."""
    tell(f"ends after step {done}")
    sys.exit(0 if done >= STEPS else TOLD_TO_LEAVE)


def load() -> tuple[int, dict]:
    """The number of steps that were saved, and the weights by name; 0 and none at first."""
    return pickle.loads(CHECKPOINT.read_bytes()) if CHECKPOINT.exists() else (0, {})  # noqa: S301


def save(step: int, weights: dict) -> None:
    """Whole or not at all: a reader never finds half a file."""
    CHECKPOINT.parent.mkdir(parents=True, exist_ok=True)
    part = CHECKPOINT.with_name(f"{HOST}-{os.getpid()}.part")
    part.write_bytes(pickle.dumps((step, weights)))
    part.replace(CHECKPOINT)


def tell(what: str) -> None:
    print(f"{HOST} {what}", flush=True)


# Before MXNet, which keeps a scheduler and a server for as long as they live.
LEAVING = leave_on_sigterm()
try:
    import mxnet as mx
except SystemExit:  # a scheduler or a server, when the last worker has left
    end(load()[0])

import numpy as np  # noqa: E402
from mxnet import autograd, gluon, nd  # noqa: E402


def main() -> None:
    mx.random.seed(0)
    store = mx.kv.create("dist_sync")
    model = build()
    # All read the same file: no worker saves another before each of them has made a step.
    done, weights = load()
    for name, parameter in model.collect_params().items():
        if name in weights:
            parameter.set_data(nd.array(weights[name]))
    tell(f"goes on after step {done} as rank {store.rank} of {store.num_workers}")
    end(train(model, store, done))


def build() -> gluon.Block:
    """Two layers on images of 8 × 8."""
    model = gluon.nn.Sequential(prefix="digits_")
    with model.name_scope():
        model.add(gluon.nn.Dense(64, activation="relu", in_units=64))
        model.add(gluon.nn.Dense(10, in_units=64))
    model.initialize(mx.init.Xavier())
    return model


def train(model: gluon.Block, store: mx.kv.KVStore, done: int) -> int:
    """The steps that are done when it ends: all, or those before a worker was told to leave."""
    images, labels = digits()
    # Plain SGD has no state of its own that a checkpoint would have to hold. The store adds the
    # gradients up; every worker makes the same update of its own weights.
    trainer = gluon.Trainer(
        model.collect_params(), "sgd", {"learning_rate": 0.2}, store, update_on_kvstore=False
    )
    entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    agree = Agreement(store)
    ledger = Ledger()
    world = store.num_workers
    ending = done >= STEPS
    while not ending:
        done += 1
        chosen = batch(len(labels), done, store)
        with autograd.record():
            loss = entropy(model(images[chosen]), labels[chosen])
        loss.backward()
        trainer.step(BATCH * world)
        mean, leaving = agree(loss.mean().asscalar(), told=LEAVING.is_set())
        ending = leaving or done >= STEPS
        if store.rank == 0:
            ledger.record(step=done, samples=BATCH * world, loss=mean, world=world)
            if ending or done % STEPS_A_CHECKPOINT == 0:
                save(done, {name: p.data().asnumpy() for name, p in model.collect_params().items()})
            if done % STEPS_A_LINE == 0:
                tell(f"step {done}, loss {mean:.3f}")
        time.sleep(0 if ending else STEP_SECONDS)
    return done


def digits() -> tuple[nd.NDArray, nd.NDArray]:
    with np.load(Path(__file__).with_name("digits.npz")) as found:  # see the Dockerfile
        return nd.array(found["images"] / 16), nd.array(found["labels"])


def batch(images: int, step: int, store: mx.kv.KVStore) -> nd.NDArray:
    """This worker's share of a step's images: workers agree on it without a word."""
    order = np.random.default_rng(step).permutation(images)
    return nd.array(order[store.rank :: store.num_workers][:BATCH])


class Agreement:
    """One more entry of the store: what the workers tell each other with each step."""

    def __init__(self, store: mx.kv.KVStore) -> None:
        self.store = store
        self.sum = nd.zeros(2)
        store.init(AGREEMENT, self.sum)

    def __call__(self, loss: float, *, told: bool) -> tuple[float, bool]:
        """The mean loss, and whether a worker was told to leave: then all end after this step."""
        self.store.push(AGREEMENT, nd.array([loss, told]))
        self.store.pull(AGREEMENT, out=self.sum)
        total, leaving = self.sum.asnumpy().tolist()
        return total / self.store.num_workers, leaving > 0


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


if __name__ == "__main__":
    main()
