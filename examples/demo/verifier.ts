/** Compares the objects of the server, from fresh lists, with the accepted writes. */
import type { ObjectMeta } from 'capstan/client';
import { MANAGED_BY } from '../website/children.ts';
import { FINALIZER } from '../website/controller.ts';
import {
  Deployment,
  Service,
  Website,
  type WebsiteObject,
  type WebsiteSpec,
} from '../website/resources.ts';
import { type Api, pathOf } from './api.ts';

export interface Verdict {
  /** The problems by key; empty if there are none. */
  problems: Map<string, string>;
  websites: number;
  deployments: number;
  services: number;
}

/** A Deployment or a Service from the server. */
interface ChildObject {
  metadata: ObjectMeta;
  spec?: unknown;
}

export async function verify(
  api: Api,
  namespaces: readonly string[],
  expected: ReadonlyMap<string, WebsiteSpec>,
  deleted: ReadonlySet<string>,
): Promise<Verdict> {
  const websites = new Map<string, WebsiteObject>();
  const deployments = new Map<string, ChildObject>();
  const services = new Map<string, ChildObject>();
  for (const namespace of namespaces) {
    for (const website of await api.list<WebsiteObject>(pathOf(Website, namespace)))
      websites.set(keyOf(website), website);
    for (const child of await api.list<ChildObject>(pathOf(Deployment, namespace)))
      addOurs(deployments, child);
    for (const child of await api.list<ChildObject>(pathOf(Service, namespace)))
      addOurs(services, child);
  }

  const problems = new Map<string, string>();
  for (const [key, spec] of expected) {
    const website = websites.get(key);
    const problem =
      website === undefined
        ? 'is missing'
        : checkWebsite(website, spec, deployments.get(key), services.get(key));
    if (problem !== undefined) problems.set(key, problem);
  }
  for (const key of deleted) {
    if (!expected.has(key) && websites.has(key))
      problems.set(key, 'was deleted and is still there');
  }
  for (const [kind, children] of [
    ['Deployment', deployments],
    ['Service', services],
  ] as const) {
    for (const key of children.keys()) {
      if (!expected.has(key) && !problems.has(key))
        problems.set(key, `is gone, but its ${kind} is not`);
    }
  }
  return {
    problems,
    websites: websites.size,
    deployments: deployments.size,
    services: services.size,
  };
}

function checkWebsite(
  website: WebsiteObject,
  spec: WebsiteSpec,
  deployment: ChildObject | undefined,
  service: ChildObject | undefined,
): string | undefined {
  const { metadata, status } = website;
  if (metadata.deletionTimestamp !== undefined) return 'is being deleted';
  if (!matches(website.spec, spec)) return 'has another spec than the last one that was written';
  if (!metadata.finalizers?.includes(FINALIZER)) return 'has no finalizer';
  if (status?.observedGeneration !== metadata.generation) {
    return `is at generation ${metadata.generation}, its status at ${status?.observedGeneration}`;
  }
  // Does not use the controller's functions, which may be wrong too.
  if (!ownedBy(deployment, website)) return 'has no Deployment of its own';
  const container = { image: spec.image, ports: [{ containerPort: spec.port }] };
  if (
    !matches(deployment?.spec, {
      replicas: spec.replicas,
      template: { spec: { containers: [container] } },
    })
  ) {
    return `has a Deployment that does not match its spec: ${JSON.stringify(deployment?.spec)}`;
  }
  if (!ownedBy(service, website)) return 'has no Service of its own';
  if (!matches(service?.spec, { ports: [{ port: spec.port }] })) {
    return `has a Service that does not match its spec: ${JSON.stringify(service?.spec)}`;
  }
  return undefined;
}

function ownedBy(child: ChildObject | undefined, website: WebsiteObject): boolean {
  const owners = child?.metadata.ownerReferences ?? [];
  return owners.some(({ uid, controller }) => controller === true && uid === website.metadata.uid);
}

function addOurs(children: Map<string, ChildObject>, child: ChildObject): void {
  if (child.metadata.labels?.['app.kubernetes.io/managed-by'] === MANAGED_BY)
    children.set(keyOf(child), child);
}

/** Whether `actual` has everything that `desired` has. Arrays are equal in length. */
function matches(actual: unknown, desired: unknown): boolean {
  if (typeof desired !== 'object' || desired === null) return actual === desired;
  if (typeof actual !== 'object' || actual === null) return false;
  if (Array.isArray(desired) && (!Array.isArray(actual) || actual.length !== desired.length))
    return false;
  return Object.entries(desired).every(([key, value]) =>
    matches((actual as Record<string, unknown>)[key], value),
  );
}

const keyOf = ({ metadata }: { metadata: ObjectMeta }) => `${metadata.namespace}/${metadata.name}`;
