/**
 * The subresources of each kind, and what a write to one that shows the whole object may change of
 * it. kubernetes: pkg/registry/core/pod, pkg/registry/core/namespace, pkg/registry/certificates.
 */
import { isObject, type JsonObject, objectAt, sameJson, stringAt } from '../json.ts';
import { type FieldError, invalidObject } from '../status.ts';
import { validateBuiltIn } from '../validation/index.ts';
import { isSigningRequest, type Kind } from './kinds.ts';
import { forApproval, forSigning } from './signing.ts';
import { withPreparedStatus } from './statuses.ts';
import { metadataOf } from './store.ts';
import { assemble, forStatusUpdate, forUpdate, ofKind, withNextGeneration } from './strategy.ts';

/** As discovery tells it. */
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

/** Of built-in kinds beside scale and status: the kind's own unless another kind is named. */
const OF_BUILT_IN: Readonly<Record<string, Readonly<Record<string, [string[], string?]>>>> = {
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

/** All subresources of a kind, in the order in which discovery tells them. */
export function subresourcesOf(kind: Kind): Subresource[] {
  const named = kind.builtIn ? (OF_BUILT_IN[`${kind.group}/${kind.plural}`] ?? {}) : {};
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

/** The methods that a subresource takes; undefined: the kind has no such one. */
export function methodsOf(kind: Kind, subresource: string): readonly string[] | undefined {
  const [first, ...rest] = subresource.split('/');
  // What comes after a proxy is a path of what it leads to.
  if (rest.length > 0 && first !== 'proxy') return undefined;
  const found = subresourcesOf(kind).find(({ name }) => name === first);
  return found?.verbs.map((verb) => METHODS[verb] ?? '');
}

/** The subresources that show the whole object, and take it. */
export const isPart = (subresource: string): boolean =>
  subresource === 'status' || Object.hasOwn(MAKERS, subresource);

type Maker = (kind: Kind, object: JsonObject, old: JsonObject, now: string) => JsonObject;

/** What a write to a subresource, or to the object itself, makes of the object. */
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

/** What of an update is the whole object's beside the part: who owns its fields. */
function withPart(kind: Kind, object: JsonObject, old: JsonObject, spec: JsonObject): JsonObject {
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

/** The Pod with its ephemeral containers, which are all that changes. */
function forEphemeralContainers(kind: Kind, object: JsonObject, old: JsonObject): JsonObject {
  const { ephemeralContainers: _, ...others } = objectAt(old, 'spec');
  const wanted = listAt(objectAt(object, 'spec'), 'ephemeralContainers');
  const spec = wanted.length > 0 ? { ...others, ephemeralContainers: wanted } : others;
  const made = withPart(kind, object, old, spec);
  refuse(kind, old, validateBuiltIn(kind, made, old, 'ephemeralcontainers'));
  return made;
}

/**
 * The Pod with the resources of its containers, which are all that changes. Containers that were
 * added, removed, renamed or reordered stay as they were sent, for the validation to refuse.
 * kubernetes: pkg/registry/core/pod/strategy.go dropNonResizeUpdates.
 */
function forResize(kind: Kind, object: JsonObject, old: JsonObject): JsonObject {
  const [asked, was] = [objectAt(object, 'spec'), objectAt(old, 'spec')];
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
  const made = withPart(kind, object, old, spec);
  refuse(kind, old, validateBuiltIn(kind, made, old, 'resize'));
  return made;
}

/** A Namespace with its own finalizers. */
function forFinalize(kind: Kind, object: JsonObject, old: JsonObject): JsonObject {
  const spec = objectAt(object, 'spec');
  refuse(kind, old, validateBuiltIn(kind, { ...object, spec }, old, 'finalize'));
  return { ...forUpdate(kind, object, old), spec };
}
