/**
 * The subresources of each kind, and what a write to one that shows the whole object may change of
 * it. kubernetes: pkg/registry/core/pod, pkg/registry/core/namespace, pkg/registry/certificates.
 */
import { isObject, type Json, type JsonObject, objectAt, sameJson, stringAt } from '../json.ts';
import {
  type FieldError,
  fieldDuplicate,
  fieldForbidden,
  fieldInvalid,
  fieldNotFound,
  fieldNotSupported,
  fieldRequired,
  invalidObject,
} from '../status.ts';
import { qosClass } from './admission.ts';
import type { Kind } from './kinds.ts';
import { dnsLabel } from './names.ts';
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

type Maker = (kind: Kind, object: JsonObject, old: JsonObject) => JsonObject;

/** What a write to a subresource, or to the object itself, makes of the object. */
export function makerOf(subresource: string): Maker {
  if (subresource === 'status') return forStatusUpdate;
  return MAKERS[subresource] ?? forUpdate;
}

const MAKERS: Readonly<Record<string, Maker>> = {
  ephemeralcontainers: forEphemeralContainers,
  resize: forResize,
  finalize: forUpdate,
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

/** Ephemeral containers are added, and never changed nor removed. */
function forEphemeralContainers(kind: Kind, object: JsonObject, old: JsonObject): JsonObject {
  const was = objectAt(old, 'spec');
  const before = listAt(was, 'ephemeralContainers');
  const wanted = listAt(objectAt(object, 'spec'), 'ephemeralContainers');
  const { ephemeralContainers: _, ...others } = was;
  const spec: JsonObject = wanted.length > 0 ? { ...was, ephemeralContainers: wanted } : others;
  const field = 'spec.ephemeralContainers';
  refuse(kind, old, [
    ...ephemeralErrors(was, wanted),
    ...before.flatMap((container) => {
      const name = stringAt(container, 'name');
      const now = wanted.find((each) => stringAt(each, 'name') === name);
      if (now !== undefined && sameJson(now, container)) return [];
      const done = now === undefined ? 'removed' : 'changed';
      const why = `existing ephemeral containers ${JSON.stringify(name)} may not be ${done}\n`;
      return [fieldForbidden(field, why)];
    }),
  ]);
  return withPart(kind, object, old, spec);
}

/** kubernetes: pkg/apis/core/validation validateEphemeralContainers. */
function ephemeralErrors(spec: JsonObject, wanted: readonly JsonObject[]): FieldError[] {
  const others = [...listAt(spec, 'containers'), ...listAt(spec, 'initContainers')].map((each) =>
    stringAt(each, 'name'),
  );
  const names = new Set(others);
  return wanted.flatMap((container, at) => {
    const place = `spec.ephemeralContainers[${at}]`;
    const name = stringAt(container, 'name');
    const errors: FieldError[] = [];
    const add = (member: string, error: (field: string) => FieldError): void =>
      void errors.push(error(`${place}.${member}`));
    if (name === '') add('name', (field) => fieldRequired(field, ''));
    else for (const why of dnsLabel(name)) add('name', (field) => fieldInvalid(field, name, why));
    if (names.has(name)) add('name', (field) => fieldDuplicate(field, name));
    names.add(name);
    const image = container.image;
    if (typeof image !== 'string' || image === '')
      add('image', (field) => fieldRequired(field, ''));
    else if (image !== image.trim())
      add('image', (field) =>
        fieldInvalid(field, image, 'must not have leading or trailing whitespace'),
      );
    for (const [member, supported] of Object.entries(SUPPORTED)) {
      const value = container[member];
      if (value !== undefined && !supported.includes(value as string))
        add(member, (field) => fieldNotSupported(field, value, supported));
    }
    const volumes = new Set(listAt(spec, 'volumes').map((volume) => stringAt(volume, 'name')));
    listAt(container, 'volumeMounts').forEach((mount, index) => {
      const volume = stringAt(mount, 'name');
      if (!volumes.has(volume))
        add(`volumeMounts[${index}].name`, (field) => fieldNotFound(field, volume));
      if (stringAt(mount, 'subPath') !== '')
        add(`volumeMounts[${index}].subPath`, (field) =>
          fieldForbidden(field, 'cannot be set for an Ephemeral Container'),
        );
    });
    for (const member of NOT_EPHEMERAL) {
      const value = container[member];
      if (isFilled(value))
        add(member, (field) => fieldForbidden(field, 'cannot be set for an Ephemeral Container'));
    }
    const target = stringAt(container, 'targetContainerName');
    if (target !== '' && !others.includes(target))
      add('targetContainerName', (field) => fieldNotFound(field, target));
    return errors;
  });
}

const SUPPORTED: Readonly<Record<string, readonly string[]>> = {
  terminationMessagePolicy: ['File', 'FallbackToLogsOnError'],
  imagePullPolicy: ['Always', 'IfNotPresent', 'Never'],
};

const NOT_EPHEMERAL = [
  ...['ports', 'resources', 'resizePolicy', 'restartPolicy'],
  ...['livenessProbe', 'readinessProbe', 'startupProbe', 'lifecycle'],
];

const isFilled = (value: Json | undefined): boolean =>
  value !== undefined &&
  value !== null &&
  (typeof value !== 'object' || Object.keys(value).length > 0);

/** The processors and the memory of a Pod's containers change, as long as its class stays. */
function forResize(kind: Kind, object: JsonObject, old: JsonObject): JsonObject {
  const was = objectAt(old, 'spec');
  const asked = objectAt(object, 'spec');
  const errors: FieldError[] = [];
  const wanted = listAt(asked, 'containers');
  if (wanted.length === 0) errors.push(fieldRequired('spec.containers', ''));
  const resized = (member: 'containers' | 'initContainers'): JsonObject[] => {
    const containers = listAt(asked, member);
    const before = listAt(was, member);
    if (containers.length !== before.length) {
      const why = `${member === 'containers' ? 'containers' : 'initContainers'} may not be added or removed on resize`;
      errors.push(fieldForbidden(`spec.${member}`, why));
      return [...before];
    }
    return before.map((container, at) => {
      const next = containers[at] as JsonObject;
      if (next.name !== container.name) {
        const why = 'containers may not be renamed or reordered on resize';
        errors.push(fieldForbidden(`spec.${member}[${at}].name`, why));
        return container;
      }
      const { resources = {}, resizePolicy } = next;
      return {
        ...container,
        resources,
        ...(resizePolicy === undefined ? {} : { resizePolicy }),
      };
    });
  };
  const containers = resized('containers');
  const init = listAt(was, 'initContainers').length > 0 ? resized('initContainers') : undefined;
  const spec: JsonObject = {
    ...was,
    containers,
    ...(init === undefined ? {} : { initContainers: init }),
  };
  const classBefore = qosClass(was);
  if (qosClass(spec) !== classBefore)
    errors.push(
      fieldInvalid('spec', classBefore, 'Pod QOS Class may not change as a result of resizing'),
    );
  containers.forEach((container, at) => {
    const before = listAt(was, 'containers')[at] as JsonObject;
    errors.push(...resourceErrors(container, before, `spec.containers[${at}].resources`));
  });
  if (errors.length === 0 && !sameJson(fixed(spec), fixed(was)))
    errors.push(fieldForbidden('spec', 'only cpu and memory resources are mutable'));
  refuse(kind, old, errors);
  return withPart(kind, object, old, spec);
}

function resourceErrors(container: JsonObject, before: JsonObject, place: string): FieldError[] {
  const [now, was] = [objectAt(container, 'resources'), objectAt(before, 'resources')];
  return (['requests', 'limits'] as const).flatMap((member) => {
    const names = Object.keys(objectAt(was, member));
    const removed = names.some((name) => !Object.hasOwn(objectAt(now, member), name));
    const why = `resource ${member} cannot be removed`;
    return removed ? [fieldForbidden(`${place}.${member}`, why)] : [];
  });
}

/** What a resize leaves as it is. */
function fixed(spec: JsonObject): JsonObject {
  const of = (member: string): JsonObject[] =>
    listAt(spec, member).map((container) => {
      const resources = objectAt(container, 'resources');
      const rest = (name: string): JsonObject => {
        const { cpu: _, memory: __, ...others } = objectAt(resources, name);
        return others;
      };
      return {
        ...container,
        resources: { ...resources, requests: rest('requests'), limits: rest('limits') },
      };
    });
  return { ...spec, containers: of('containers'), initContainers: of('initContainers') };
}

/** The conditions of a CertificateSigningRequest change, and nothing else. */
function forApproval(kind: Kind, object: JsonObject, old: JsonObject): JsonObject {
  const { conditions } = objectAt(object, 'status');
  const { conditions: _, ...status } = objectAt(old, 'status');
  const next: JsonObject = {
    ...object,
    ...(old.spec === undefined ? {} : { spec: old.spec }),
    status: { ...status, ...(conditions === undefined ? {} : { conditions }) },
  };
  return forStatusUpdate(kind, next, old);
}
