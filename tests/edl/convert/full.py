"""One document of each API with every field that the API has, and some that servers write."""

import copy
import json
from typing import Final

import yaml

from edl.writes import Json

_POD: Final = {
    "priorityClassName": "low",
    "schedulerName": "mine",
    "containers": [
        {
            "name": "tensorflow",
            "image": "train",
            "command": ["sh", "-c", "run"],
            "env": [{"name": "A", "value": "b"}],
            "ports": [{"name": "tfjob-port", "containerPort": 3333}],
            "resources": {"limits": {"cpu": 1}},
        }
    ],
}
_PARTS: Final = {
    "$POD": _POD,
    "$TEMPLATE": {
        "metadata": {
            "labels": {"a": "b"},
            "annotations": {"kubeshare/gpu_request": "0.5", "kubeshare/gpu_limit": "0.7"},
        },
        "spec": _POD,
    },
    "$POLICY": {
        "cleanPodPolicy": "All",
        "ttlSecondsAfterFinished": 10,
        "activeDeadlineSeconds": 20,
        "backoffLimit": 3,
        "suspend": True,
        "managedBy": "kubeflow.org/training-operator",
        "schedulingPolicy": {
            "minAvailable": 3,
            "queue": "gpu",
            "minResources": {"cpu": "1"},
            "priorityClass": "high",
            "scheduleTimeoutSeconds": 30,
        },
    },
}
_TEXT: Final = """
apiVersion: kubeflow.org/v1
kind: TFJob
metadata:
  name: full
  namespace: lab
  uid: "1"
  labels: {team: vision, kueue.x-k8s.io/queue-name: gpu}
  annotations: {note: mine, kubectl.kubernetes.io/last-applied-configuration: "{}"}
  finalizers: [operator]
  ownerReferences: [{apiVersion: v1, kind: Experiment, name: hpo, uid: "2"}]
spec:
  max-instances: 4
  min-instances: 1
  enableDynamicWorker: true
  successPolicy: AllWorkers
  runPolicy: $POLICY
  tfReplicaSpecs:
    Chief: &replica {replicas: 1, restartPolicy: Never, template: $TEMPLATE}
    PS: {<<: *replica, replicas: 2, restartPolicy: ExitCode}
    Worker: {<<: *replica, replicas: 2, restartPolicy: OnFailure}
    Evaluator: {<<: *replica, restartPolicy: Always}
---
apiVersion: kubeflow.org/v1beta2
kind: TFJob
metadata: {name: inline}
spec:
  cleanPodPolicy: None
  ttlSecondsAfterFinished: 10
  activeDeadlineSeconds: 20
  backoffLimit: 3
  tfReplicaSpecs:
    Worker: {replicas: 2, restartPolicy: Never, template: $TEMPLATE}
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: full}
spec:
  runPolicy: $POLICY
  nprocPerNode: gpu
  elasticPolicy:
    minReplicas: 1
    maxReplicas: 5
    rdzvBackend: etcd
    rdzvPort: 2379
    rdzvHost: etcd
    rdzvId: mine
    rdzvConf: [{key: a, value: b}]
    standalone: true
    nProcPerNode: 2
    maxRestarts: 9
    metrics: [{type: Resource}]
  pytorchReplicaSpecs:
    Worker: {replicas: 3, restartPolicy: OnFailure, template: $TEMPLATE}
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: classic}
spec:
  nprocPerNode: "2"
  pytorchReplicaSpecs:
    Master:
      restartPolicy: Never
      template: {spec: {containers: [{name: pytorch, image: lead, args: [--lead]}]}}
    Worker: {replicas: 3, restartPolicy: OnFailure, template: $TEMPLATE}
---
apiVersion: kubeflow.org/v1
kind: PaddleJob
metadata: {name: launched}
spec:
  runPolicy: $POLICY
  elasticPolicy: {minReplicas: 1, maxReplicas: 5, maxRestarts: 9, metrics: [{type: Resource}]}
  paddleReplicaSpecs:
    Worker:
      replicas: 3
      restartPolicy: ExitCode
      template:
        spec:
          containers:
          - name: paddle
            image: train
            command: [python, -m, paddle.distributed.launch, run_check]
            ports: [{name: master, containerPort: 37777}]
---
apiVersion: kubeflow.org/v1alpha1
kind: MPIJob
metadata: {name: first}
spec:
  processingUnits: 8
  processingUnitsPerNode: 4
  processingResourceType: nvidia.com/gpu
  slotsPerWorker: 2
  launcherOnMaster: true
  backoffLimit: 3
  activeDeadlineSeconds: 20
  template: {spec: {restartPolicy: Never, containers: [{name: a, image: b, command: [mpirun]}]}}
---
apiVersion: kubeflow.org/v1
kind: MPIJob
metadata: {name: second}
spec:
  slotsPerWorker: 2
  backoffLimit: 3
  activeDeadlineSeconds: 20
  cleanPodPolicy: All
  mainContainer: tensorflow
  mpiReplicaSpecs:
    Launcher: {replicas: 1, restartPolicy: OnFailure, template: {spec: $POD}}
    Worker: {replicas: 3, restartPolicy: Never, template: $TEMPLATE}
---
apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: third}
spec:
  slotsPerWorker: 2
  runPolicy: $POLICY
  runLauncherAsWorker: true
  sshAuthMountPath: /home/mpiuser/.ssh
  launcherCreationPolicy: AtStartup
  mpiImplementation: Intel
  mpiReplicaSpecs:
    Launcher: {replicas: 1, restartPolicy: ExitCode, template: {spec: $POD}}
    Worker: {replicas: 3, restartPolicy: ExitCode, template: $TEMPLATE}
---
apiVersion: kai.alibabacloud.com/v1alpha1
kind: TrainingJob
metadata:
  name: elastic
  annotations:
    job-supervisor.kube-ai.io/job-suspended: "true"
    job-supervisor.kube-ai.io/job-status: Running
    arena.kubeflow.org/ssh-secret: mine
spec:
  cleanPodPolicy: Running
  launcherAttachMode: kubexec
  slotsPerWorker: 2
  restartPolicy: OnFailure
  backoffLimit: 3
  etReplicaSpecs:
    launcher: {replicas: 1, restartPolicy: Always, template: {spec: $POD}}
    worker: {replicas: 3, minReplicas: 1, maxReplicas: 5, restartPolicy: Never, template: $TEMPLATE}
---
apiVersion: kai.alibabacloud.com/v1alpha1
kind: ScaleIn
metadata: {name: less}
spec:
  selector: {name: elastic}
  toDelete: {count: 1, podNames: [elastic-worker-1]}
  script: /run.sh
  timeout: 5
  backoffLimit: 3
  env: [{name: A, value: b}]
---
apiVersion: kubeflow.org/v1alpha1
kind: MXJob
metadata: {name: list}
spec:
  RuntimeId: ab12
  jobMode: dist
  mxImage: mxnet
  terminationPolicy: {chief: {replicaName: WORKER, replicaIndex: 0}}
  cleanupPodPolicy: All
  schedulerName: gang
  replicaSpecs:
  - {mxReplicaType: SCHEDULER, replicas: 1, PsRootPort: 9000, template: $TEMPLATE}
  - {mxReplicaType: SERVER, replicas: 1, PsRootPort: 9001, template: $TEMPLATE}
  - {mxReplicaType: WORKER, replicas: 2, template: {spec: $POD}}
---
apiVersion: kubeflow.org/v1beta1
kind: MXJob
metadata: {name: tune}
spec:
  jobMode: MXTune
  successPolicy: AllWorkers
  cleanPodPolicy: All
  ttlSecondsAfterFinished: 10
  mxReplicaSpecs:
    TunerTracker: {replicas: 1, restartPolicy: Never, template: $TEMPLATE}
    TunerServer: {replicas: 1, label: 2080ti, restartPolicy: Never, template: $TEMPLATE}
    Tuner:
      replicas: 1
      restartPolicy: ExitCode
      template: $TEMPLATE
      tunerSpec: {tunerServerReplicas: 2, tunerServerGPU: true, tunerServerKey: other}
---
apiVersion: ava.qiniu.com/v1alpha1
kind: MXJob
metadata: {name: map}
spec:
  startWebhook: {name: a}
  finishWebhook: {name: b}
  schedulingSpec: {minAvailable: 2}
  replicaSpecs:
    scheduler: {psRootPort: 9000, psVerbose: 2, template: $TEMPLATE}
    server: {template: $TEMPLATE}
    worker: {replicas: 2, template: $TEMPLATE}
---
apiVersion: paddlepaddle.org/v1
kind: TrainingJob
metadata: {name: ctr}
spec:
  image: paddle
  host_network: true
  port: 7000
  ports_num: 2
  ports_num_for_sparse: 3
  trainer_port: 1
  trainer_ports_num: 2
  fault_tolerant: true
  local_job: true
  passes: 4
  volumes: [{name: data, emptyDir: {}}]
  VolumeMounts: [{name: data, mountPath: /data}]
  imagePullSecrets: [{name: key}]
  NodeSelector: {gpu: k80}
  mountpath: /a
  nfsmount: /b
  annotations: {usergroupid: a, userid: b, priority: high, scheduler: c, walltime: 1}
  is_nccl: true
  frame_work: {name: paddle, type: nccl2}
  schedulerName: mine
  podGroupName: gang
  matrix: true
  master: &words
    etcd-endpoint: http://etcd
    resources: {limits: {cpu: "1"}}
    replicaSpec: {spec: {}}
    envs: {A: b}
    grace_period_seconds: 5
    pre_stop_cmd: [leave]
    tolerations: [{key: a}]
    node_selector: {disk: ssd}
    liveness_probe: {tcpSocket: {port: 1}}
    readiness_probe: {tcpSocket: {port: 2}}
  pserver: {<<: *words, min-instance: 2, max-instance: 3, entrypoint: ps, index_succeed: true}
  trainer: {<<: *words, min-instance: 2, max-instance: 9, entrypoint: run, workspace: /job}
---
apiVersion: kubeshare.nthu/v1
kind: SharePod
metadata:
  name: cuda
  labels: {app: cuda}
  annotations:
    kubeshare/gpu_request: "0.5"
    kubeshare/gpu_limit: "1.0"
    kubeshare/gpu_mem: "1073741824"
    kubeshare/GPUID: abcde
    kubeshare/sched_affinity: red
    kubeshare/sched_anti-affinity: green
    kubeshare/sched_exclusion: blue
    note: mine
spec: {nodeName: node01, nodeSelector: {disk: ssd}, containers: [{name: cuda, image: cuda}]}
---
apiVersion: v1
kind: Pod
metadata:
  name: cuda
  labels:
    app: cuda
    sharedgpu/gpu_request: "0.4"
    sharedgpu/gpu_limit: "0.8"
    sharedgpu/gpu_mem: "1073741824"
    sharedgpu/gpu_model: V100
    sharedgpu/priority: "100"
    sharedgpu/group_name: ring
    sharedgpu/group_headcount: "4"
    sharedgpu/group_threshold: "1.0"
  annotations: {sharedgpu/gpu_uuid: GPU-1, note: mine}
spec:
  restartPolicy: Always
  schedulerName: kubeshare-scheduler
  containers: [{name: cuda, image: cuda}]
"""


def documents() -> list[Json]:
    """Each shares nothing with another."""
    text = _TEXT
    for word, part in _PARTS.items():
        text = text.replace(word, json.dumps(part))
    loaded: list[Json] = list(yaml.safe_load_all(text))
    return copy.deepcopy(loaded)
