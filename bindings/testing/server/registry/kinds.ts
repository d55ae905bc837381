/**
 * What is known of each resource: its kind, scope and habits. The built-in ones are a table, so
 * that they behave like a real kube-apiserver's from the first request; custom ones need no
 * registration: the first object tells the kind and the scope, or a CustomResourceDefinition does,
 * when one is created. What was learned is never forgotten.
 *
 * The status rule: a built-in kind has a status subresource when the real one has; a custom kind
 * has one unless its CustomResourceDefinition says otherwise. Where there is one, writes to the
 * object leave `status` alone and writes to `/status` leave everything else alone.
 */
import { CapstanError } from '../../../base/errors.ts';
import { isObject, type Json, type JsonObject, objectAt, stringAt } from '../json.ts';
import { type Schema, schemaAt } from '../schema/structural.ts';
import { isConditionTrue } from './definitions.ts';

/**
 * A resource is named by group, version and plural; forms.ts tells which of them have their objects
 * in common.
 */
export interface ResourceName {
  group: string;
  version: string;
  plural: string;
}

export interface Kind extends ResourceName {
  /** 'ConfigMap'; a guess from the plural until `known`. */
  kind: string;
  listKind: string;
  singular: string;
  shortNames: readonly string[];
  /** Groups of kinds that clients ask for by one name, such as `all`. */
  categories: readonly string[];
  /** undefined until the first object of a custom resource tells. */
  namespaced: boolean | undefined;
  builtIn: boolean;
  /** The kind is certain: built in, defined by a CustomResourceDefinition, or told by an object. */
  known: boolean;
  /** There is a status subresource. */
  status: boolean;
  /**
   * Whether `metadata.generation` counts, and what for: built-in kinds count `spec` (two of them
   * more), custom ones all but metadata and status.
   */
  generation: 'spec' | 'all' | 'first' | 'none';
  /** An update without resourceVersion is accepted. */
  unconditional: boolean;
  /** An update of an object that does not exist creates it. */
  createOnUpdate: boolean;
  /** A delete answers with the object instead of a Status. */
  returnsDeleted: boolean;
  /** A delete that names no policy leaves the dependents to themselves. */
  orphans: boolean;
  /** false: its definition was deleted, or it was removed; its paths lead nowhere. */
  served: boolean;
  /** An apiVersion of before, in which objects are taken too. */
  formerly?: string;
  /** The verbs of a kind whose objects are not stored; others have all verbs. */
  verbs?: readonly string[];
  /** What its CustomResourceDefinition says of its objects; without one any member is taken. */
  schema?: Schema;
  /** What that says of all versions together. */
  definition?: Definition;
  /** The fields of a custom resource that a selector may name: `spec.host`. */
  selectable?: readonly string[];
  /** What a Table of custom resources shows, as its definition has it. */
  printerColumns?: readonly JsonObject[];
  /** What is warned of where a client uses this version. */
  deprecation?: string;
  /** Where its scale subresource finds the replicas, if it has one. */
  scale?: ScalePaths;
}

/** Versions are named as objects have them: `example.com/v1`. */
export interface Definition {
  schemas: ReadonlyMap<string, Schema | undefined>;
  /** The version in which objects are stored. */
  storage: string;
}

/** Paths as the CustomResourceDefinition has them: `.spec.replicas`. */
export interface ScalePaths {
  specReplicas: string;
  statusReplicas: string;
  selector: string;
}

/**
 * Kubernetes 1.36, as its discovery and its registry strategies have it. A line is: kind, plural,
 * flags, short names. n namespaced · s status subresource · g generation · 1 generation, and it
 * stays 1 · c update needs a resourceVersion · u an update may create · r a delete answers with the
 * object · o it orphans unless told otherwise · k scale subresource · a in the category `all` · x
 * in `api-extensions` · v it is created alone, and nothing is stored · l it is read alone.
 */
const BUILT_IN: Record<string, string> = {
  v1: `
    Binding bindings nv; ComponentStatus componentstatuses l cs; ConfigMap configmaps n cm; Endpoints endpoints nu ep; Event events nu ev; LimitRange limitranges nu limits;
    Namespace namespaces sr ns; Node nodes s no; PersistentVolume persistentvolumes sr pv;
    PersistentVolumeClaim persistentvolumeclaims nsr pvc; Pod pods nsgra po; PodTemplate podtemplates ngr;
    ReplicationController replicationcontrollers nsgoka rc; ResourceQuota resourcequotas nsr quota; Secret secrets n;
    Service services nsura svc; ServiceAccount serviceaccounts nr sa`,
  'admissionregistration.k8s.io/v1': `
    MutatingAdmissionPolicy mutatingadmissionpolicies gcx; MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings gcx;
    MutatingWebhookConfiguration mutatingwebhookconfigurations gcx;
    ValidatingAdmissionPolicy validatingadmissionpolicies sgcx;
    ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings gcx;
    ValidatingWebhookConfiguration validatingwebhookconfigurations gcx`,
  'apiextensions.k8s.io/v1': 'CustomResourceDefinition customresourcedefinitions sgcx crd,crds',
  'apiregistration.k8s.io/v1': 'APIService apiservices scx',
  'apps/v1': `
    ControllerRevision controllerrevisions n; DaemonSet daemonsets nsga ds; Deployment deployments nsgka deploy;
    ReplicaSet replicasets nsgka rs; StatefulSet statefulsets nsgka sts`,
  'authentication.k8s.io/v1': `
    SelfSubjectReview selfsubjectreviews v; TokenReview tokenreviews v`,
  'authorization.k8s.io/v1': `
    LocalSubjectAccessReview localsubjectaccessreviews nv; SelfSubjectAccessReview selfsubjectaccessreviews v;
    SelfSubjectRulesReview selfsubjectrulesreviews v; SubjectAccessReview subjectaccessreviews v`,
  'autoscaling/v1': 'HorizontalPodAutoscaler horizontalpodautoscalers nsa hpa',
  'autoscaling/v2': 'HorizontalPodAutoscaler horizontalpodautoscalers nsa hpa',
  'batch/v1': 'CronJob cronjobs nsga cj; Job jobs nsgoa',
  'certificates.k8s.io/v1': 'CertificateSigningRequest certificatesigningrequests s csr',
  'coordination.k8s.io/v1': 'Lease leases ncu',
  'discovery.k8s.io/v1': 'EndpointSlice endpointslices ng',
  'events.k8s.io/v1': 'Event events nu ev',
  'flowcontrol.apiserver.k8s.io/v1': `
    FlowSchema flowschemas sg; PriorityLevelConfiguration prioritylevelconfigurations sg`,
  'networking.k8s.io/v1': `
    Ingress ingresses nsg ing; IngressClass ingressclasses g; IPAddress ipaddresses - ip;
    NetworkPolicy networkpolicies ng netpol; ServiceCIDR servicecidrs s`,
  'node.k8s.io/v1': 'RuntimeClass runtimeclasses cu',
  'policy/v1': 'PodDisruptionBudget poddisruptionbudgets nsgc pdb',
  'rbac.authorization.k8s.io/v1': `
    ClusterRole clusterroles u; ClusterRoleBinding clusterrolebindings u; Role roles nu; RoleBinding rolebindings nu`,
  'resource.k8s.io/v1': `
    DeviceClass deviceclasses gr; ResourceClaim resourceclaims nsr; ResourceClaimTemplate resourceclaimtemplates nr;
    ResourceSlice resourceslices gr`,
  'scheduling.k8s.io/v1': 'PriorityClass priorityclasses 1 pc',
  'storage.k8s.io/v1': `
    CSIDriver csidrivers cr; CSINode csinodes cr; CSIStorageCapacity csistoragecapacities nc; StorageClass storageclasses r sc;
    VolumeAttachment volumeattachments scr; VolumeAttributesClass volumeattributesclasses r vac`,
};

export const resourceKey = (name: ResourceName): string =>
  `${name.group}/${name.version}/${name.plural}`;

export const isSigningRequest = (kind: Kind): boolean =>
  kind.builtIn && kind.plural === 'certificatesigningrequests';

export const isClaim = (kind: Kind): boolean =>
  kind.builtIn && kind.plural === 'persistentvolumeclaims';
export const isPod = (kind: Kind): boolean =>
  kind.builtIn && kind.group === '' && kind.plural === 'pods';

export const isNamespace = (kind: Kind): boolean =>
  kind.builtIn && kind.group === '' && kind.plural === 'namespaces';

export const apiVersionOf = (name: { group: string; version: string }): string =>
  name.group === '' ? name.version : `${name.group}/${name.version}`;

/** The group of an apiVersion; 'v1' has none. */
export function splitApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf('/');
  return slash < 0
    ? { group: '', version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}

const BUILT_IN_SCALE: ScalePaths = {
  specReplicas: '.spec.replicas',
  statusReplicas: '.status.replicas',
  selector: '',
};

function builtIns(): Kind[] {
  return Object.entries(BUILT_IN).flatMap(([apiVersion, lines]) =>
    lines.split(';').map((line) => {
      const [kind = '', plural = '', flags = '', shortNames] = line.trim().split(/\s+/);
      const has = (flag: string): boolean => flags.includes(flag);
      return {
        ...splitApiVersion(apiVersion),
        plural,
        kind,
        listKind: `${kind}List`,
        singular: kind.toLowerCase(),
        shortNames: shortNames?.split(',') ?? [],
        namespaced: has('n'),
        builtIn: true,
        known: true,
        status: has('s'),
        generation: has('g') ? 'spec' : has('1') ? 'first' : 'none',
        unconditional: !has('c'),
        createOnUpdate: has('u'),
        returnsDeleted: has('r'),
        orphans: has('o'),
        served: true,
        categories: has('a') ? ['all'] : has('x') ? ['api-extensions'] : [],
        ...(has('k') ? { scale: BUILT_IN_SCALE } : {}),
        ...(has('v') ? { verbs: ['create'] } : has('l') ? { verbs: ['get', 'list'] } : {}),
      } satisfies Kind;
    }),
  );
}

/**
 * 'websites' → 'Website', 'policies' → 'Policy': what a kind is called before anybody has said so.
 */
function guessSingular(plural: string): string {
  if (plural.endsWith('ies')) return `${plural.slice(0, -3)}y`;
  if (/(s|x|z|ch|sh)es$/.test(plural)) return plural.slice(0, -2);
  return plural.length > 1 && plural.endsWith('s') ? plural.slice(0, -1) : plural;
}

function guess(name: ResourceName): Kind {
  const singular = guessSingular(name.plural);
  const kind = singular.charAt(0).toUpperCase() + singular.slice(1);
  return {
    ...name,
    kind,
    listKind: `${kind}List`,
    singular,
    shortNames: [],
    categories: [],
    namespaced: undefined,
    builtIn: false,
    known: false,
    status: true,
    generation: 'all',
    unconditional: false,
    createOnUpdate: false,
    returnsDeleted: false,
    orphans: false,
    served: true,
  };
}

/** What the scale subresource shows: read and patched as an object, but of no resource. */
export const SCALE: Kind = {
  ...guess({ group: 'autoscaling', version: 'v1', plural: 'scales' }),
  builtIn: true,
  known: true,
  namespaced: true,
};

/** A built-in kind that is sent to a subresource, and of no resource of its own. */
const sent = (group: string, plural: string, kind: string): Kind => ({
  ...guess({ group, version: 'v1', plural }),
  kind,
  builtIn: true,
  known: true,
  namespaced: true,
});

export const TOKEN_REQUEST = sent('authentication.k8s.io', 'tokenrequests', 'TokenRequest');
export const BINDING = sent('', 'bindings', 'Binding');
const EVICTION: Kind = {
  ...sent('policy', 'evictions', 'Eviction'),
  formerly: 'policy/v1beta1',
};

/** What is sent to the subresources that are created alone. */
export const SENT_TO: Readonly<Record<string, Kind>> = {
  binding: BINDING,
  eviction: EVICTION,
  token: TOKEN_REQUEST,
};

/** The resources of a CustomResourceDefinition, one for each of its versions. */
export function definedBy(crd: JsonObject): { name: ResourceName; version: JsonObject }[] {
  const spec = objectAt(crd, 'spec');
  const plural = stringAt(objectAt(spec, 'names'), 'plural');
  const versions = (Array.isArray(spec.versions) ? spec.versions : []).filter(isObject);
  return versions.map((version) => ({
    name: { group: stringAt(spec, 'group'), version: stringAt(version, 'name'), plural },
    version,
  }));
}

const strings = (list: Json | undefined): string[] =>
  Array.isArray(list) ? list.filter((item) => typeof item === 'string') : [];

/** What one version says of its objects. */
function schemaOf(version: JsonObject): { schema?: Schema; scale?: ScalePaths } {
  const schema = schemaAt(objectAt(version, 'schema'), 'openAPIV3Schema');
  const scale = objectAt(version, 'subresources').scale;
  return {
    ...(schema === undefined ? {} : { schema }),
    ...(isObject(scale)
      ? {
          scale: {
            specReplicas: stringAt(scale, 'specReplicasPath'),
            statusReplicas: stringAt(scale, 'statusReplicasPath'),
            selector: stringAt(scale, 'labelSelectorPath'),
          },
        }
      : {}),
  };
}

function selectableOf({ selectableFields }: JsonObject): string[] {
  const fields = (Array.isArray(selectableFields) ? selectableFields : []).filter(isObject);
  return fields.map((field) => stringAt(field, 'jsonPath').replace(/^\./, ''));
}

function deprecationOf(
  { deprecated, deprecationWarning }: JsonObject,
  apiVersion: string,
  kind: string,
): { deprecation?: string } {
  if (deprecated !== true) return {};
  const warning = typeof deprecationWarning === 'string' ? deprecationWarning : '';
  return { deprecation: warning || `${apiVersion} ${kind} is deprecated` };
}

/** All kinds of one server. */
export class Kinds {
  readonly #byResource = new Map<string, Kind>();
  readonly #builtInKinds = new Set<string>();
  /** By group. */
  readonly #builtInVersions = new Map<string, readonly string[]>();
  /** The custom resources with a status; undefined: all but those that are defined otherwise. */
  #statusOf: ReadonlySet<string> | undefined;

  constructor() {
    for (const kind of builtIns()) {
      this.#byResource.set(resourceKey(kind), kind);
      this.#builtInKinds.add(`${apiVersionOf(kind)}/${kind.kind}`);
      const versions = this.#builtInVersions.get(kind.group) ?? [];
      if (!versions.includes(kind.version))
        this.#builtInVersions.set(kind.group, [...versions, kind.version]);
    }
  }

  /** The resource, built in, learned or guessed. Asking teaches nothing. */
  get(name: ResourceName): Kind {
    const key = resourceKey(name);
    const known = this.#byResource.get(key);
    if (known !== undefined) return known;
    const unknown = { ...guess(name), status: this.#statusOf?.has(key) ?? true };
    const [other] = this.otherVersions(name);
    if (other === undefined) return unknown;
    const { kind, listKind, singular, namespaced, definition } = other;
    return { ...unknown, kind, listKind, singular, namespaced, served: definition === undefined };
  }

  /** The versions of a custom resource that are known beside this one, served or not. */
  otherVersions({ group, version, plural }: ResourceName): Kind[] {
    const all = [...this.#byResource.values()];
    return all.filter(
      (kind) =>
        !kind.builtIn && kind.plural === plural && kind.group === group && kind.version !== version,
    );
  }

  /** From now on the resource is served, or not. What is known of it is kept. */
  serve(name: ResourceName, served: boolean): void {
    this.#byResource.set(resourceKey(name), { ...this.get(name), served });
  }

  /** Whether a built-in kind of that name exists, whatever its resource. */
  isBuiltIn(apiVersion: string, kind: string): boolean {
    return this.#builtInKinds.has(`${apiVersion}/${kind}`);
  }

  /** The versions of one of Kubernetes' own groups; none: the group is anybody's. */
  builtInVersions(group: string): readonly string[] {
    return this.#builtInVersions.get(group) ?? [];
  }

  /** An object was created: its kind and scope are from now on the resource's. */
  learn(kind: Kind, object: { kind: string; namespaced: boolean }): void {
    if (kind.known && kind.namespaced !== undefined) return;
    const named = kind.known
      ? kind
      : { ...kind, kind: object.kind, listKind: `${object.kind}List`, known: true };
    this.#byResource.set(resourceKey(kind), {
      ...named,
      namespaced: kind.namespaced ?? object.namespaced,
    });
  }

  /**
   * A custom resource is known before its first object. Of one that is defined, or built in,
   * nothing changes. Throws CapstanError INVALID_ARGUMENT for another plural of a built-in kind.
   */
  declare(resource: ResourceName & { kind: string; namespaced: boolean }): void {
    const { group, version, plural, kind, namespaced } = resource;
    const name = { group, version, plural };
    const known = this.get(name);
    if (known.known) return;
    for (const other of this.#byResource.values())
      if (other.builtIn && other.group === group && other.kind === kind && other.plural !== plural)
        throw new CapstanError(
          'INVALID_ARGUMENT',
          `"${plural}" is no resource of ${apiVersionOf(name)}: its kind ${kind} is "${other.plural}"`,
        );
    const status = this.#statusOf === undefined || this.#statusOf.has(resourceKey(name));
    const singular = kind.toLowerCase();
    this.#byResource.set(resourceKey(name), {
      ...{ ...known, kind, listKind: `${kind}List`, singular, known: true, namespaced, status },
    });
  }

  /**
   * From now on these custom resources have a status subresource, and no others that no
   * CustomResourceDefinition defines.
   */
  onlyStatusOf(resources: readonly ResourceName[]): void {
    this.#statusOf = new Set(resources.map(resourceKey));
    for (const [key, kind] of this.#byResource) {
      if (!kind.builtIn && kind.schema === undefined)
        this.#byResource.set(key, { ...kind, status: this.#statusOf.has(key) });
    }
  }

  /** A CustomResourceDefinition was written. What it lacks is left as guessed. */
  define(crd: JsonObject): void {
    const established = isConditionTrue(crd, 'Established');
    const names = objectAt(
      objectAt(crd, established ? 'status' : 'spec'),
      established ? 'acceptedNames' : 'names',
    );
    const kind = stringAt(names, 'kind');
    const versions = definedBy(crd);
    const [first] = versions;
    if (kind === '' || first === undefined) return;
    // A version that is not defined any more is not served either.
    for (const other of this.otherVersions({ ...first.name, version: '' }))
      this.serve(other, false);
    const stored = versions.find(({ version }) => version.storage === true) ?? first;
    const definition = {
      schemas: new Map(
        versions.map(({ name, version }) => [apiVersionOf(name), schemaOf(version).schema]),
      ),
      storage: apiVersionOf(stored.name),
    };
    for (const { name, version } of versions) {
      const shortNames = strings(names.shortNames);
      if (this.get(name).builtIn) continue;
      this.#byResource.set(resourceKey(name), {
        ...guess(name),
        kind,
        listKind: stringAt(names, 'listKind') || `${kind}List`,
        singular: stringAt(names, 'singular') || kind.toLowerCase(),
        shortNames,
        categories: strings(names.categories),
        namespaced: stringAt(objectAt(crd, 'spec'), 'scope') !== 'Cluster',
        known: true,
        served: established && version.served === true,
        selectable: selectableOf(version),
        printerColumns: (Array.isArray(version.additionalPrinterColumns)
          ? version.additionalPrinterColumns
          : []
        ).filter(isObject),
        ...deprecationOf(version, apiVersionOf(name), kind),
        status: isObject(objectAt(version, 'subresources').status),
        ...schemaOf(version),
        definition,
      });
    }
  }

  /** All kinds that are built in or were learned, and are served. */
  all(): Kind[] {
    return [...this.#byResource.values()].filter((kind) => kind.served);
  }
}
