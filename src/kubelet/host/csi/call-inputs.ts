// What calls to a storage driver carry besides the volume: secrets, tokens of the pod, and what the attacher left.
// Upstream: pkg/volume/csi/csi_mounter.go.
import { Node } from "#api/core/v1/node.ts";
import type { Pod } from "#api/core/v1/pod.ts";
import { Secret } from "#api/core/v1/secret.ts";
import type { CSIDriver } from "#api/storage/v1/csi-driver.ts";
import { VolumeAttachment } from "#api/storage/v1/volume-attachment.ts";
import {
  attachmentOf,
  type CsiVolume,
  podInfo,
  type SecretPlace,
  tokensAttribute,
  uniqueNameOf,
} from "../../csi/csi-volume.ts";
import { InputMissing } from "../../inputs/sources.ts";
import { NotAttached } from "../../volume-lifecycle.ts";
import type { CsiContext } from "./csi-context.ts";

type Texts = Readonly<Record<string, string>>;

/** What the attacher has left for the node. Rejects with NotAttached if the volume must be attached first. */
export async function publishContext(
  volume: CsiVolume,
  described: CSIDriver | undefined,
  { node, client, inUse }: CsiContext,
): Promise<Texts> {
  if (volume.mode === "Ephemeral" || described?.spec.attachRequired === false) return {};
  const unique = uniqueNameOf(volume);
  await inUse.add(unique); // before it is asked whether it is attached: from now on nobody detaches it
  const { status } = await client.get(Node, { name: node });
  if (!status.volumesAttached?.some(({ name }) => name === unique))
    throw new NotAttached(`volume ${volume.specName} is not attached according to node status`);
  const name = attachmentOf(volume, node);
  const attachment = await client.find(VolumeAttachment, { name });
  if (!attachment) throw new InputMissing(`kubernetes.io/csi: failed to get volume attachment [id=${name}]`);
  if (attachment.metadata.deletionTimestamp !== undefined)
    throw new NotAttached(`volume attachment is being deleted [id=${name}]`);
  return attachment.status.attachmentMetadata ?? {};
}

export async function secretTexts(place: SecretPlace | undefined, { client }: CsiContext): Promise<Texts> {
  if (!place) return {};
  const secret = await client.find(Secret, place);
  if (!secret)
    throw new InputMissing(
      `kubernetes.io/csi: failed to find the secret ${place.name} in the namespace ${place.namespace}`,
    );
  return Object.fromEntries(
    Object.entries(secret.data ?? {}).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]),
  );
}

/** The secrets and the context of a volume that is published for a pod, with what its driver wants to know of the pod. */
export async function publishInputs(
  volume: CsiVolume,
  pod: Pod,
  described: CSIDriver | undefined,
  context: CsiContext,
): Promise<{ readonly secrets: Texts; readonly volumeContext: Texts }> {
  const secrets = await secretTexts(volume.publishSecret, context);
  const info = described?.spec.podInfoOnMount ? podInfo(pod, volume) : {};
  const tokens = volume.isBlock ? {} : await tokenAttribute(pod, described, context);
  return described?.spec.serviceAccountTokenInSecrets
    ? { secrets: { ...secrets, ...tokens }, volumeContext: { ...volume.attributes, ...info } }
    : { secrets, volumeContext: { ...volume.attributes, ...info, ...tokens } };
}

const defaultSeconds = 3600;

async function tokenAttribute(pod: Pod, described: CSIDriver | undefined, { tokens }: CsiContext): Promise<Texts> {
  const requests = described?.spec.tokenRequests ?? [];
  if (requests.length === 0) return {};
  const granted: Record<string, unknown> = {};
  for (const { audience, expirationSeconds = defaultSeconds } of requests)
    granted[audience] = await tokens.grant(pod, audience, expirationSeconds);
  return { [tokensAttribute]: JSON.stringify(granted) };
}
