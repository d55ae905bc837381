/** The status of a Website, which is written only when it changes. */
import { type AlreadyOwnedError, type Client, mergeFrom, setStatusCondition } from 'capstan/client';
import type { Request } from 'capstan/workqueue';
import {
  type DeploymentObject,
  Website,
  type WebsiteObject,
  type WebsiteStatus,
} from './resources.ts';

/** The current Deployment, or the owner that has taken the name of the Deployment or Service. */
export type Outcome =
  | { readonly deployment: DeploymentObject; readonly taken?: undefined }
  | { readonly taken: AlreadyOwnedError };

/** The status after a reconcile. Members of which nothing new is known keep their values. */
export function statusOf(
  { namespace, name }: Request,
  website: WebsiteObject,
  outcome: Outcome,
): WebsiteStatus {
  const { spec, status = {}, metadata } = website;
  const observedGeneration = metadata.generation;
  if (outcome.taken !== undefined) {
    const { message } = outcome.taken;
    const synced = {
      type: 'Synced',
      status: 'False',
      reason: 'NameTaken',
      message,
      observedGeneration,
    } as const;
    return { ...status, conditions: setStatusCondition(status.conditions, synced) };
  }
  const { availableReplicas = 0 } = outcome.deployment.status ?? {};
  const available = availableReplicas >= spec.replicas;
  const conditions = setStatusCondition(status.conditions, {
    type: 'Synced',
    status: 'True',
    reason: 'ChildrenMatch',
    message: '',
    observedGeneration,
  });
  return {
    observedGeneration,
    address: `${name}.${namespace}.svc:${spec.port}`,
    conditions: setStatusCondition(conditions, {
      type: 'Available',
      status: available ? 'True' : 'False',
      reason: available ? 'AllReplicas' : 'TooFewReplicas',
      message: `${availableReplicas} of ${spec.replicas} replicas are available`,
      observedGeneration,
    }),
  };
}

export async function writeStatus(
  client: Client,
  key: Request,
  website: WebsiteObject,
  status: WebsiteStatus,
  signal: AbortSignal,
): Promise<void> {
  // With the resourceVersion that was read: the status of an older spec must not overwrite that of
  // a newer one.
  const patch = mergeFrom(website, { optimisticLock: true }).to({ ...website, status });
  const { metadata: _, ...said } = patch.body as { metadata?: object };
  if (Object.keys(said).length === 0) return;
  await client.status().patch(Website, key, patch, { signal });
}
