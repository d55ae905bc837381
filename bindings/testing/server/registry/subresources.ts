/**
 * The subresources of each kind, and what a write to one with the whole object may change.
 * kubernetes: pkg/registry/core/pod, pkg/registry/core/namespace, pkg/registry/certificates.
 */
import { isObject, type JsonObject, memberObject, sameJson, stringAt } from '../json.ts';
import { type FieldError, invalidObject } from '../status.ts';
import { validateBuiltIn } from '../validation/index.ts';
import { isSigningRequest, type Kind } from './kinds.ts';
import { forApproval, forSigning } from './signing.ts';
import { withPreparedStatus } from './statuses.ts';
import { metadataOf } from './store.ts';
import { assemble, forStatusUpdate, forUpdate, ofKind, withNextGeneration } from './strategy.ts';

/** An entry of discovery. */
export interface Subresource {
  name: string;
  group: string;
  version: string;
  kind: string;
  verbs: readonly string[];
}

const READ_AND_WRITE = ['get', 'patch', 'update'];
const CONNECT = ['create', 'get'];
const PROXY = ['create', 'delete', 'get', 'patch', 'update'];
const CREATE = ['create'];

/**
 * The subresources of built-in kinds beside scale and status. The kind is that of the resource
 * unless another one is given.
 */
const BUILT_IN_SUBRESOURCES: Readonly<
  Record<string, Readonly<Record<string, [string[], string?]>>>
> = {
  '/pods': {
    attach: [CONNECT, 'PodAttachOptions'],
    binding: [CREATE, 'Binding'],
    ephemeralcontainers: [READ_AND_WRITE],
    eviction: [CREATE, 'policy/v1/Eviction'],
    exec: [CONNECT, 'PodExecOptions'],
    log: [['get']],
    portforward: [CONNECT, 'PodPortForwardOptions'],
    proxy: [PROXY, 'PodProxyOptions'],
    resize: [READ_AND_WRITE],
  },
  '/namespaces': { finalize: [['update']] },
  '/nodes': { proxy: [PROXY, 'NodeProxyOptions'] },
  '/services': { proxy: [PROXY, 'ServiceProxyOptions'] },
  '/serviceaccounts': { token: [CREATE, 'authentication.k8s.io/v1/TokenRequest'] },
  'certificates.k8s.io/certificatesigningrequests': { approval: [READ_AND_WRITE] },
};

/** All subresources of a kind, in the order of discovery. */
export function subresourcesOf(kind: Kind): Subresource[] {
  const named = kind.builtIn ? (BUILT_IN_SUBRESOURCES[`${kind.group}/${kind.plural}`] ?? {}) : {};
  const found = Object.entries(named).map(([name, [verbs, of = kind.kind]]): Subresource => {
    const [group, version, other] = of.split('/');
    if (other === undefined) return { name, group: '', version: '', kind: of, verbs };
    return { name, group: group as string, version: version as string, kind: other, verbs };
  });
  const scale: Subresource = {
    name: 'scale',
    group: 'autoscaling',
    version: 'v1',
    kind: 'Scale',
    verbs: READ_AND_WRITE,
  };
  const status: Subresource = {
    name: 'status',
    group: '',
    version: '',
    kind: kind.kind,
    verbs: READ_AND_WRITE,
  };
  const own = [...(kind.scale === undefined ? [] : [scale]), ...(kind.status ? [status] : [])];
  if (!kind.builtIn) return own.reverse();
  return [...found, ...own].sort((a, b) => (a.name < b.name ? -1 : 1));
}

const METHODS: Readonly<Record<string, string>> = {
  create: 'POST',
  delete: 'DELETE',
  get: 'GET',
  patch: 'PATCH',
  update: 'PUT',
};

/** The methods of a subresource; undefined: the kind does not have it. */
export function methodsOf(kind: Kind, subresource: string): readonly string[] | undefined {
  const [first, ...rest] = subresource.split('/');
  // Behind `proxy` is a path of the target.
  if (rest.length > 0 && first !== 'proxy') return undefined;
  const found = subresourcesOf(kind).find(({ name }) => name === first);
  return found?.verbs.map((verb) => METHODS[verb] ?? '');
}

/** Whether the subresource reads and writes the whole object. */
export const isWholeObject = (subresource: string): boolean =>
  subresource === 'status' || Object.hasOwn(MAKERS, subresource);

type Maker = (kind: Kind, object: JsonObject, old: JsonObject, now: string) => JsonObject;

/**
 * Returns the function that merges a write to a subresource, or to the object, into the old object.
 */
export function makerOf(kind: Kind, subresource: string): Maker {
  if (subresource !== 'status') return MAKERS[subresource] ?? forUpdate;
  if (isSigningRequest(kind)) return forSigning;
  return (...[of, object, old, now]) =>
    forStatusUpdate(of, withPreparedStatus(of, object, old, now), old);
}

const MAKERS: Readonly<Record<string, Maker>> = {
  ephemeralcontainers: forEphemeralContainers,
  resize: forResize,
  finalize: forFinalize,
  approval: forApproval,
};

/** The old object with the new spec, and with the managedFields of the write. */
function withSpecChange(
  kind: Kind,
  object: JsonObject,
  old: JsonObject,
  spec: JsonObject,
): JsonObject {
  const { managedFields } = metadataOf(object);
  const { managedFields: _, ...was } = metadataOf(old);
  const metadata: JsonObject = {
    ...was,
    ...(managedFields === undefined ? {} : { managedFields }),
  };
  const made = assemble(kind, metadata, { ...old, spec });
  return sameJson(spec, old.spec) ? made : withNextGeneration(made, old);
}

const listAt = (parent: JsonObject, member: string): readonly JsonObject[] => {
  const value = parent[member];
  return Array.isArray(value) ? value.filter(isObject) : [];
};

const refuse = (kind: Kind, old: JsonObject, errors: readonly FieldError[]): void => {
  if (errors.length > 0)
    throw invalidObject(ofKind(kind, stringAt(metadataOf(old), 'name')), errors);
};

/** Replaces the ephemeral containers of the Pod, and nothing else. */
function forEphemeralContainers(kind: Kind, object: JsonObject, old: JsonObject): JsonObject {
  const { ephemeralContainers: _, ...others } = memberObject(old, 'spec');
  const wanted = listAt(memberObject(object, 'spec'), 'ephemeralContainers');
  const spec = wanted.length > 0 ? { ...others, ephemeralContainers: wanted } : others;
  const made = withSpecChange(kind, object, old, spec);
  refuse(kind, old, validateBuiltIn(kind, made, old, 'ephemeralcontainers'));
  return made;
}

/**
 * Replaces the resources of the Pod's containers, and nothing else. Added, removed, renamed or
 * reordered containers are kept as sent, so that the validation rejects them. kubernetes:
 * pkg/registry/core/pod/strategy.go dropNonResizeUpdates.
 */
function forResize(kind: Kind, object: JsonObject, old: JsonObject): JsonObject {
  const [asked, was] = [memberObject(object, 'spec'), memberObject(old, 'spec')];
  const isOther = ['containers', 'initContainers'].some(
    (member) => listAt(asked, member).length !== listAt(was, member).length,
  );
  const resized = (member: string): JsonObject => {
    const [wanted, before] = [listAt(asked, member), listAt(was, member)];
    if (wanted.length === 0) return {};
    if (wanted.some(({ name }, at) => name !== before[at]?.name)) return { [member]: wanted };
    const containers = before.map((container, at) => {
      const { resources = {}, resizePolicy } = wanted[at] ?? {};
      const { resizePolicy: _, ...others } = container;
      return { ...others, resources, ...(resizePolicy === undefined ? {} : { resizePolicy }) };
    });
    return { [member]: containers };
  };
  const spec = isOther ? asked : { ...was, ...resized('containers'), ...resized('initContainers') };
  const made = withSpecChange(kind, object, old, spec);
  refuse(kind, old, validateBuiltIn(kind, made, old, 'resize'));
  return made;
}

/** Replaces the finalizers in the spec of a Namespace. */
function forFinalize(kind: Kind, object: JsonObject, old: JsonObject): JsonObject {
  const spec = memberObject(object, 'spec');
  refuse(kind, old, validateBuiltIn(kind, { ...object, spec }, old, 'finalize'));
  return { ...forUpdate(kind, object, old), spec };
}
