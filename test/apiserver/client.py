# What a program with Debian's Python client does: one line for each result.
import sys

from kubernetes import client, config, watch

config.load_kube_config(sys.argv[1])
core, apps = client.CoreV1Api(), client.AppsV1Api()
namespace = "default"


def config_map(name, n):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data={"n": n})


print("created", core.create_namespaced_config_map(namespace, config_map("a", "1")).metadata.name)
print("listed", *[one.metadata.name for one in core.list_namespaced_config_map(namespace).items])

stream = watch.Watch()
for event in stream.stream(core.list_namespaced_config_map, namespace):
    print(event["type"], event["object"].metadata.name, event["object"].data["n"])
    if event["type"] == "ADDED":
        core.patch_namespaced_config_map("a", namespace, {"data": {"n": "2"}})
    elif event["type"] == "MODIFIED":
        core.delete_namespaced_config_map("a", namespace)
    else:
        stream.stop()

core.create_namespaced_config_map(namespace, config_map("b", "1"))
try:
    core.create_namespaced_config_map(namespace, config_map("b", "1"))
except client.ApiException as refused:
    print("conflict", refused.status, "AlreadyExists" if "AlreadyExists" in refused.body else refused.body)

labels = {"app": "web"}
template = client.V1PodTemplateSpec(
    metadata=client.V1ObjectMeta(labels=labels),
    spec=client.V1PodSpec(containers=[client.V1Container(name="web", image="nginx")]),
)
spec = client.V1DeploymentSpec(replicas=1, selector=client.V1LabelSelector(match_labels=labels), template=template)
apps.create_namespaced_deployment(
    namespace, client.V1Deployment(metadata=client.V1ObjectMeta(name="web"), spec=spec)
)
apps.patch_namespaced_deployment_scale("web", namespace, {"spec": {"replicas": 3}})
web = apps.read_namespaced_deployment("web", namespace)
print("deployment", web.metadata.name, web.spec.replicas)
try:
    core.read_namespaced_pod("nothing", namespace)
except client.ApiException as refused:
    print("missing", refused.status, "NotFound" if "NotFound" in refused.body else refused.body)
