"""Handwritten digits, learned with parameter servers and trainers that come and go.

One process a pod. TF_CONFIG says which task it is, and lists as many workers as there can be,
whichever of them run. All variables, the step among them, live in the parameter servers, so
trainers join, leave and die at any time; the chief also saves checkpoints, and fills parameter
servers that came back empty.
"""

import json
import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple, TextIO

TOLD_TO_LEAVE = 128 + signal.SIGTERM
# Before TensorFlow, which takes seconds: the first process of a container cannot be ended by a
# signal that it does not handle. Not by 0, either: a pod that was to go is not done with its work.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(TOLD_TO_LEAVE))

import numpy as np  # noqa: E402
import tensorflow.compat.v1 as tf  # noqa: E402

STEPS = int(os.environ.get("EDL_STEPS", "2000"))  # of all trainers together
STEP_SECONDS = float(os.environ.get("EDL_STEP_SECONDS", "0.1"))
DATA = Path(os.environ.get("EDL_DATA", "/data"))
HOST = os.environ.get("HOSTNAME") or socket.gethostname()
CHECKPOINTS = str(DATA / "checkpoints")
STEPS_A_CHECKPOINT = 50
STEPS_A_LINE = 100
BATCH = 32
LEAVE_SECONDS = 5.0


class Model(NamedTuple):
    """What a trainer feeds, runs and fetches."""

    images: tf.Tensor
    labels: tf.Tensor
    loss: tf.Tensor
    number: tf.Tensor
    update: tf.Operation


def main() -> None:
    leaving = leave_on_sigterm()
    told = json.loads(os.environ["TF_CONFIG"])
    role, index = told["task"]["type"], told["task"]["index"]
    me = f"/job:{role}/task:{index}"
    # Without filters no session would start before every listed worker is there.
    config = tf.ConfigProto(device_filters=[] if role == "ps" else ["/job:ps", me])
    cluster = tf.train.ClusterSpec(told["cluster"])
    tf.disable_eager_execution()
    tf.logging.set_verbosity(tf.logging.ERROR)
    server = tf.distribute.Server(cluster, job_name=role, task_index=index, config=config)
    if role == "ps":
        server.join()  # for ever: its parent ends it
    with tf.device(tf.train.replica_device_setter(worker_device=me, cluster=cluster)):
        model = build()
        sessions = Sessions(server.target, config, chief=role == "chief")
    trainers = sum(len(hosts) for job, hosts in told["cluster"].items() if job != "ps")
    train(model, sessions, leaving, trainers)
    print(f"{HOST} ends: {'told to' if leaving.is_set() else 'all steps are done'}", flush=True)
    sys.exit(TOLD_TO_LEAVE if leaving.is_set() else 0)


def leave_on_sigterm() -> threading.Event:
    """Set on SIGTERM. A task still there LEAVE_SECONDS later is ended: TensorFlow may wait."""
    leaving = threading.Event()
    ours, pythons = socket.socketpair()
    pythons.setblocking(False)  # noqa: FBT003 - Python's own name
    # Python's own handlers wait until TensorFlow returns; a thread that reads this need not.
    signal.set_wakeup_fd(pythons.detach())
    signal.signal(signal.SIGTERM, lambda *_: None)

    def listen() -> None:
        ours.recv(1)
        leaving.set()
        time.sleep(LEAVE_SECONDS)
        os._exit(TOLD_TO_LEAVE)

    threading.Thread(target=listen, daemon=True).start()
    return leaving


def build() -> Model:
    """Two layers on images of 8 × 8; `number` is the step that `update` makes."""
    images = tf.placeholder(tf.float32, [None, 64])
    labels = tf.placeholder(tf.int64, [None])
    hidden = tf.nn.relu(dense(images, "hidden", 64))
    loss = tf.losses.sparse_softmax_cross_entropy(labels, dense(hidden, "digits", 10))
    optimizer = tf.train.AdagradOptimizer(0.02)
    gradients = optimizer.compute_gradients(loss)
    # It counts and reads in one operation, so no two trainers get the same number. After STEPS it
    # raises OutOfRangeError instead, which ends a session well and updates nothing.
    before = tf.count_up_to(tf.train.create_global_step(), STEPS)
    with tf.control_dependencies([before]):
        update = optimizer.apply_gradients(gradients)
    return Model(images, labels, loss, before + 1, update)


def dense(inputs: tf.Tensor, name: str, units: int) -> tf.Tensor:
    weights = tf.get_variable(f"{name}/weights", [inputs.shape[1], units])
    bias = tf.get_variable(f"{name}/bias", [units], initializer=tf.zeros_initializer())
    return inputs @ weights + bias


class Sessions(tf.train.SessionCreator):
    """Opens sessions: the first one, and another whenever a parameter server was away.

    Like MonitoredTrainingSession's, but a chief that comes back leaves variables alone that are
    there, and workers look every second, not every 30, whether they are.
    """

    def __init__(self, target: str, config: tf.ConfigProto, *, chief: bool) -> None:
        self.target = target
        self.config = config
        self.chief = chief
        self.saver = tf.train.Saver()
        self.initialize = tf.global_variables_initializer()
        self.missing = tf.report_uninitialized_variables(tf.global_variables())

    def create_session(self) -> tf.Session:
        while True:
            session = tf.Session(self.target, config=self.config)
            if not session.run(self.missing).size:
                return session
            if self.chief:
                self.fill(session)
            else:
                session.close()
                time.sleep(1)

    def fill(self, session: tf.Session) -> None:
        """All variables, as in the last checkpoint: those of one moment belong together."""
        if state := tf.train.get_checkpoint_state(CHECKPOINTS):
            print(f"{HOST} restores {state.model_checkpoint_path}", flush=True)
            self.saver.restore(session, state.model_checkpoint_path)
        else:
            session.run(self.initialize)


def train(model: Model, sessions: Sessions, leaving: threading.Event, trainers: int) -> None:
    images, labels = digits()
    random = np.random.default_rng()
    saving = tf.train.CheckpointSaverHook(
        CHECKPOINTS, save_steps=STEPS_A_CHECKPOINT, saver=sessions.saver
    )
    hooks = [saving] if sessions.chief else []
    with tf.train.MonitoredSession(sessions, hooks) as session, open_ledger() as ledger:
        while not leaving.is_set():
            chosen = random.choice(len(labels), BATCH)
            feed = {model.images: images[chosen], model.labels: labels[chosen]}
            _, step, loss = session.run([model.update, model.number, model.loss], feed)
            record(ledger, step=int(step), samples=BATCH, loss=float(loss), world=trainers)
            if step % STEPS_A_LINE == 0:
                print(f"step {step}, loss {loss:.3f}", flush=True)
            time.sleep(STEP_SECONDS)


def digits() -> tuple[np.ndarray, np.ndarray]:
    with np.load(Path(__file__).with_name("digits.npz")) as found:  # see the Dockerfile
        return found["images"] / 16, found["labels"]


def open_ledger() -> TextIO:
    path = DATA / "ledger" / f"{HOST}-{time.time_ns()}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.open("a")


def record(ledger: TextIO, **fields: float) -> None:
    line = {"time": time.time(), "who": HOST} | fields
    ledger.write(json.dumps(line) + "\n")
    ledger.flush()


if __name__ == "__main__":
    main()
