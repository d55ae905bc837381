/**
 * What the server knows about each resource: kind, scope and behaviour. The built-in ones are a
 * table, so that they behave as in a real kube-apiserver from the first request. A custom resource
 * needs no registration: its first object or its CustomResourceDefinition determines kind and
 * scope. Nothing that was learned is forgotten.
 *
 * Status subresources: a built-in kind has one if it has one in Kubernetes; a custom kind has one
 * unless its CustomResourceDefinition says otherwise. With a status subresource, writes to the
 * object ignore `status`, and writes to `/status` ignore everything else.
 */
import { CapstanError } from '../../../base/errors.ts';
import { isObject, type Json, type JsonObject, memberObject, stringAt } from '../json.ts';
import { type Schema, schemaAt } from '../schema/structural.ts';
import { isConditionTrue } from './definitions.ts';

/**
 * Group, version and plural name a resource. conversion.ts says which resources share their
 * objects.
 */
export interface ResourceName {
  group: string;
  version: string;
  plural: string;
}

export interface Kind extends ResourceName {
  /** 'ConfigMap'; guessed from the plural while `known` is false. */
  kind: string;
  listKind: string;
  singular: string;
  shortNames: readonly string[];
  /** Groups of resources that kubectl takes by one name, such as `all`. */
  categories: readonly string[];
  /** undefined until the first object of a custom resource is created. */
  namespaced: boolean | undefined;
  builtIn: boolean;
  /** The kind is certain: it is built in, defined, or was learned from an object. */
  known: boolean;
  /** The resource has a status subresource. */
  status: boolean;
  /**
   * What increments `metadata.generation`: a change of `spec` for built-in kinds (two also count
   * other members), a change of anything but metadata and status for custom ones.
   */
  generation: 'spec' | 'all' | 'first' | 'none';
  /** Updates without resourceVersion are accepted. */
  unconditional: boolean;
  /** An update of an object that does not exist creates it. */
  createOnUpdate: boolean;
  /** A delete returns the object instead of a Status. */
  returnsDeleted: boolean;
  /** A delete without a policy orphans the dependents. */
  orphans: boolean;
  /**
   * false: the definition was deleted, or the resource was removed; its paths are answered with
   * 404.
   */
  served: boolean;
  /** An older apiVersion in which request bodies are accepted too. */
  formerly?: string;
  /** The verbs of a kind whose objects are not stored; undefined: all verbs. */
  verbs?: readonly string[];
  /** The schema of its CustomResourceDefinition; without one, any member is accepted. */
  schema?: Schema;
  /** What the CustomResourceDefinition says about all versions. */
  definition?: Definition;
  /** The fields of a custom resource that a field selector may name: `spec.host`. */
  selectable?: readonly string[];
  /** additionalPrinterColumns of the CustomResourceDefinition. */
  printerColumns?: readonly JsonObject[];
  /** The warning that each request for this version gets. */
  deprecation?: string;
  /** Where the scale subresource finds the replicas, if there is one. */
  scale?: ScalePaths;
}

/** Versions are written as in objects: `example.com/v1`. */
export interface Definition {
  schemas: ReadonlyMap<string, Schema | undefined>;
  /** The storage version. */
  storage: string;
}

/** Paths as in the CustomResourceDefinition: `.spec.replicas`. */
export interface ScalePaths {
  specReplicas: string;
  statusReplicas: string;
  selector: string;
}

/**
 * The resources of Kubernetes 1.36, as in its discovery and its registry strategies. An entry is:
 * kind, plural, flags, short names. n namespaced · s status subresource · g generation · 1
 * generation that stays 1 · c update needs a resourceVersion · u an update may create · r a delete
 * returns the object · o a delete orphans by default · k scale subresource · a category `all` · x
 * category `api-extensions` · v create only, and nothing is stored · l read only.
 */
const BUILT_IN: Record<string, string> = {
  v1: `
    Binding bindings nv; ComponentStatus componentstatuses l cs; ConfigMap configmaps n cm;
    Endpoints endpoints nu ep; Event events nu ev; LimitRange limitranges nu limits;
    Namespace namespaces sr ns; Node nodes s no; PersistentVolume persistentvolumes sr pv;
    PersistentVolumeClaim persistentvolumeclaims nsr pvc; Pod pods nsgra po;
    PodTemplate podtemplates ngr;
    ReplicationController replicationcontrollers nsgoka rc;
    ResourceQuota resourcequotas nsr quota; Secret secrets n;
    Service services nsura svc; ServiceAccount serviceaccounts nr sa`,
  'admissionregistration.k8s.io/v1': `
    MutatingAdmissionPolicy mutatingadmissionpolicies gcx;
    MutatingAdmissionPolicyBinding mutatingadmissionpolicybindings gcx;
    MutatingWebhookConfiguration mutatingwebhookconfigurations gcx;
    ValidatingAdmissionPolicy validatingadmissionpolicies sgcx;
    ValidatingAdmissionPolicyBinding validatingadmissionpolicybindings gcx;
    ValidatingWebhookConfiguration validatingwebhookconfigurations gcx`,
  'apiextensions.k8s.io/v1': 'CustomResourceDefinition customresourcedefinitions sgcx crd,crds',
  'apiregistration.k8s.io/v1': 'APIService apiservices scx',
  'apps/v1': `
    ControllerRevision controllerrevisions n; DaemonSet daemonsets nsga ds;
    Deployment deployments nsgka deploy;
    ReplicaSet replicasets nsgka rs; StatefulSet statefulsets nsgka sts`,
  'authentication.k8s.io/v1': `
    SelfSubjectReview selfsubjectreviews v; TokenReview tokenreviews v`,
  'authorization.k8s.io/v1': `
    LocalSubjectAccessReview localsubjectaccessreviews nv;
    SelfSubjectAccessReview selfsubjectaccessreviews v;
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
    ClusterRole clusterroles u; ClusterRoleBinding clusterrolebindings u; Role roles nu;
    RoleBinding rolebindings nu`,
  'resource.k8s.io/v1': `
    DeviceClass deviceclasses gr; ResourceClaim resourceclaims nsr;
    ResourceClaimTemplate resourceclaimtemplates nr;
    ResourceSlice resourceslices gr`,
  'scheduling.k8s.io/v1': 'PriorityClass priorityclasses 1 pc',
  'storage.k8s.io/v1': `
    CSIDriver csidrivers cr; CSINode csinodes cr; CSIStorageCapacity csistoragecapacities nc;
    StorageClass storageclasses r sc;
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

/** Splits an apiVersion into group and version; the group of 'v1' is ''. */
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

/** 'websites' → 'Website', 'policies' → 'Policy': the guess before the kind is known. */
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

/** The object of the scale subresource: it is read and patched, but belongs to no resource. */
export const SCALE: Kind = {
  ...guess({ group: 'autoscaling', version: 'v1', plural: 'scales' }),
  builtIn: true,
  known: true,
  namespaced: true,
};

/** A built-in kind that is sent to a subresource and belongs to no resource. */
const bodyKind = (group: string, plural: string, kind: string): Kind => ({
  ...guess({ group, version: 'v1', plural }),
  kind,
  builtIn: true,
  known: true,
  namespaced: true,
});

export const TOKEN_REQUEST = bodyKind('authentication.k8s.io', 'tokenrequests', 'TokenRequest');
export const BINDING = bodyKind('', 'bindings', 'Binding');
const EVICTION: Kind = {
  ...bodyKind('policy', 'evictions', 'Eviction'),
  formerly: 'policy/v1beta1',
};

/** The kinds of the subresources that only support create. */
export const SUBRESOURCE_BODIES: Readonly<Record<string, Kind>> = {
  binding: BINDING,
  eviction: EVICTION,
  token: TOKEN_REQUEST,
};

/** The resources of a CustomResourceDefinition, one per version. */
export function definedBy(crd: JsonObject): { name: ResourceName; version: JsonObject }[] {
  const spec = memberObject(crd, 'spec');
  const plural = stringAt(memberObject(spec, 'names'), 'plural');
  const versions = (Array.isArray(spec.versions) ? spec.versions : []).filter(isObject);
  return versions.map((version) => ({
    name: { group: stringAt(spec, 'group'), version: stringAt(version, 'name'), plural },
    version,
  }));
}

const strings = (list: Json | undefined): string[] =>
  Array.isArray(list) ? list.filter((item) => typeof item === 'string') : [];

/** Schema and scale paths of one version. */
function schemaOf(version: JsonObject): { schema?: Schema; scale?: ScalePaths } {
  const schema = schemaAt(memberObject(version, 'schema'), 'openAPIV3Schema');
  const scale = memberObject(version, 'subresources').scale;
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

/** All resources of one server. */
export class Kinds {
  readonly #byResource = new Map<string, Kind>();
  readonly #builtInKinds = new Set<string>();
  /** Versions by group. */
  readonly #builtInVersions = new Map<string, readonly string[]>();
  /**
   * The custom resources with a status subresource; undefined: all but those whose definition has
   * none.
   */
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

  /** The resource: built in, learned or guessed. A lookup learns nothing. */
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

  /** The other known versions of a custom resource, served or not. */
  otherVersions({ group, version, plural }: ResourceName): Kind[] {
    const all = [...this.#byResource.values()];
    return all.filter(
      (kind) =>
        !kind.builtIn && kind.plural === plural && kind.group === group && kind.version !== version,
    );
  }

  /** Serves the resource from now on, or stops that. What is known about it is kept. */
  serve(name: ResourceName, served: boolean): void {
    this.#byResource.set(resourceKey(name), { ...this.get(name), served });
  }

  /** Whether there is a built-in kind of that name. */
  isBuiltIn(apiVersion: string, kind: string): boolean {
    return this.#builtInKinds.has(`${apiVersion}/${kind}`);
  }

  /** The versions of a group of Kubernetes; empty for other groups. */
  builtInVersions(group: string): readonly string[] {
    return this.#builtInVersions.get(group) ?? [];
  }

  /** Called when an object was created: sets kind and scope of its resource. */
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
   * Registers a custom resource before its first object. A built-in or defined resource does not
   * change. Throws CapstanError INVALID_ARGUMENT for a wrong plural of a built-in kind.
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
          `"${plural}" is no resource of ${apiVersionOf(name)}: its kind ${kind} is ` +
            `"${other.plural}"`,
        );
    const status = this.#statusOf === undefined || this.#statusOf.has(resourceKey(name));
    const singular = kind.toLowerCase();
    this.#byResource.set(resourceKey(name), {
      ...{ ...known, kind, listKind: `${kind}List`, singular, known: true, namespaced, status },
    });
  }

  /**
   * From now on, of the custom resources without a CustomResourceDefinition only these have a
   * status subresource.
   */
  onlyStatusOf(resources: readonly ResourceName[]): void {
    this.#statusOf = new Set(resources.map(resourceKey));
    for (const [key, kind] of this.#byResource) {
      if (!kind.builtIn && kind.schema === undefined)
        this.#byResource.set(key, { ...kind, status: this.#statusOf.has(key) });
    }
  }

  /** Called when a CustomResourceDefinition was written. Members that it lacks keep the guess. */
  define(crd: JsonObject): void {
    const established = isConditionTrue(crd, 'Established');
    const names = memberObject(
      memberObject(crd, established ? 'status' : 'spec'),
      established ? 'acceptedNames' : 'names',
    );
    const kind = stringAt(names, 'kind');
    const versions = definedBy(crd);
    const [first] = versions;
    if (kind === '' || first === undefined) return;
    // A version that is no longer defined is no longer served.
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
        namespaced: stringAt(memberObject(crd, 'spec'), 'scope') !== 'Cluster',
        known: true,
        served: established && version.served === true,
        selectable: selectableOf(version),
        printerColumns: (Array.isArray(version.additionalPrinterColumns)
          ? version.additionalPrinterColumns
          : []
        ).filter(isObject),
        ...deprecationOf(version, apiVersionOf(name), kind),
        status: isObject(memberObject(version, 'subresources').status),
        ...schemaOf(version),
        definition,
      });
    }
  }

  /** All built-in and learned kinds that are served. */
  all(): Kind[] {
    return [...this.#byResource.values()].filter((kind) => kind.served);
  }
}
