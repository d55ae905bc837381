/**
 * Writes bindings/apimachinery/types-table.ts: the fields of Kubernetes' built-in kinds,
 * their types and how their lists and maps are merged, from /openapi/v3 of a real kube-apiserver
 * (KUBEBUILDER_ASSETS), and which of them Go writes where they are zero and what number they have
 * in protobuf, from its types (tools/go-fields). Run by hand when the server that the embedded one
 * is modelled on changes, with the Go modules of that version: `node scripts/derive-types.ts`,
 * after a build. Notation: bindings/apimachinery/built-in.ts.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { kubeConfigTransport } from 'capstan/client-node';
import { Kinds } from '../bindings/testing/server/registry/kinds.ts';
import { readKubeConfig } from '../test/e2e/same-answers/servers.ts';
import { ControlPlane } from '../test/helpers/control-plane/control-plane.ts';
import { wrapRow } from './wrap-table.ts';

interface Property {
  $ref?: string;
  allOf?: Property[];
  oneOf?: Property[];
  type?: string;
  format?: string;
  default?: unknown;
  items?: Property;
  properties?: Record<string, Property>;
  additionalProperties?: Property;
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-map-type'?: string;
  'x-kubernetes-patch-strategy'?: string;
  'x-kubernetes-patch-merge-key'?: string;
  'x-kubernetes-group-version-kind'?: { group: string; version: string; kind: string }[];
}

const TARGET = fileURLToPath(new URL('../bindings/apimachinery/types-table.ts', import.meta.url));
/** Types that are not written as structs: any JSON, or a scalar of its own. */
const SCALARS: Record<string, string> = {
  IntOrString: 'x',
  Quantity: 'q',
  Time: 't',
  MicroTime: 'u',
  FieldsV1: '*',
  RawExtension: '*',
  JSON: '*',
  JSONSchemaPropsOrArray: '(JSONSchemaProps)',
  JSONSchemaPropsOrBool: '(JSONSchemaProps)',
  JSONSchemaPropsOrStringArray: '(JSONSchemaProps)',
};
/** By the types' names in OpenAPI and their members: what tools/go-fields prints. */
type GoFields = Record<string, Record<string, { mark: string; number: string }>>;

const PLAIN: Record<string, string> = { string: 's', integer: 'i', number: 'n', boolean: 'b' };

type Kind = ReturnType<Kinds['all']>[number];

function table(
  definitions: Map<string, Property>,
  served: readonly Kind[],
  goFields: GoFields,
): string {
  const roots = [...definitions].flatMap(
    ([name, { 'x-kubernetes-group-version-kind': kinds = [] }]) =>
      kinds
        .filter(({ group, version, kind }) =>
          [...served, ...VIEWS].some(
            (known) => known.group === group && known.version === version && known.kind === kind,
          ),
        )
        .map((of) => ({ name, of })),
  );
  const needed = new Map<string, string>();
  const shortOf = shortNames(definitions);
  const visit = (full: string): void => {
    const name = shortOf(full);
    if (needed.has(name) || SCALARS[last(full)] !== undefined) return;
    needed.set(name, '');
    const type = definitions.get(full) as Property;
    const keys = new Set<string>();
    for (const other of definitions.values()) {
      for (const property of Object.values(other.properties ?? {})) {
        if (refOf(property.items) === full)
          for (const key of property['x-kubernetes-list-map-keys'] ?? []) keys.add(key);
      }
    }
    const fields = Object.entries(type.properties ?? {}).map(([field, property]) => {
      const fallback = keys.has(field) && property.default !== undefined;
      // Go would write 0, but every server sets the number of the port. There are no defaults here,
      // so the field is omitted.
      const isDefaulted = field === 'targetPort';
      const inGo = goFields[full]?.[field];
      if (inGo === undefined)
        throw new Error(`Go has no ${full}.${field}: tools/go-fields is of another version`);
      const mark = isDefaulted ? '?' : inGo.mark;
      const number = inGo.number === '' ? '' : `@${inGo.number}`;
      const value = fallback ? `=${String(property.default)}` : '';
      return `${field}${number}:${code(property, shortOf, visit, mark)}${value}`;
    });
    const atomic = type['x-kubernetes-map-type'] === 'atomic' ? '!' : '';
    needed.set(name, `${name}${atomic} ${fields.sort().join(' ')}`);
  };
  for (const { name } of roots) visit(name);
  const kinds = new Map(
    roots.map(({ name, of }) => [
      shortOf(name),
      `${of.group === '' ? '' : `${of.group}/`}${of.version}`,
    ]),
  );
  const types = [...needed]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, line]) => (kinds.has(name) ? `${kinds.get(name)} ${line}` : line));
  const rows = types.map((type) => wrapRow(type.split(' '), ' '));
  return `${HEAD}export const TYPES = \`\n${rows.join(';\n')}\`;\n`;
}

/** Kinds that only subresources read or write, without a resource of their own. */
const VIEWS = [
  { group: 'autoscaling', version: 'v1', kind: 'Scale' },
  { group: 'policy', version: 'v1', kind: 'Eviction' },
  { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' },
];

const HEAD = `/**
 * The fields of the built-in kinds of Kubernetes 1.36 and how they are merged; built-in.ts explains
 * the notation. Written by scripts/derive-types.ts from /openapi/v3 of a kube-apiserver; not to be
 * edited.
 */

`;

const last = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

/** The last part of a definition's name, with the group where two share it. */
function shortNames(definitions: Map<string, Property>): (full: string) => string {
  const count = new Map<string, number>();
  for (const full of definitions.keys()) count.set(last(full), (count.get(last(full)) ?? 0) + 1);
  return (full) => {
    if (count.get(last(full)) === 1) return last(full);
    const [version, group] = full.split('.').reverse().slice(1);
    return `${last(full)}.${group}.${version}`;
  };
}

const refOf = (property: Property | undefined): string | undefined => {
  const ref = property?.$ref ?? property?.allOf?.[0]?.$ref;
  return ref?.slice('#/components/schemas/'.length);
};

function code(
  property: Property,
  shortOf: (full: string) => string,
  visit: (full: string) => void,
  mark = '',
): string {
  const strategies = (property['x-kubernetes-patch-strategy'] ?? '').split(',');
  const key = property['x-kubernetes-patch-merge-key'] ?? '';
  const merge = strategies.includes('merge') ? `^${key}` : '';
  const replace = strategies.includes('replace') ? '%' : '';
  const patch = merge + replace + (strategies.includes('retainKeys') ? '~' : '');
  const atomic = `${property['x-kubernetes-map-type'] === 'atomic' ? '!' : ''}`;
  // In Go a field that may be absent and is no scalar in JSON is a pointer.
  const written = mark === '?' ? '' : mark;
  const ref = refOf(property);
  if (ref !== undefined) {
    const scalar = SCALARS[last(ref)];
    if (scalar !== undefined) return `${scalar}${written}`;
    visit(ref);
    return `${shortOf(ref)}${atomic}${written}${patch}`;
  }
  if (property.type === 'array') {
    const element = code(property.items ?? {}, shortOf, visit);
    const keys = property['x-kubernetes-list-map-keys'];
    if (property['x-kubernetes-list-type'] === 'map')
      return `[${element}|${keys?.join(',')}]${written}${patch}`;
    return property['x-kubernetes-list-type'] === 'set'
      ? `[${element}|]${written}${patch}`
      : `[${element}]${written}${patch}`;
  }
  if (property.additionalProperties !== undefined)
    return `{${code(property.additionalProperties, shortOf, visit)}}${atomic}${written}${patch}`;
  if (property.type === 'string' && property.format === 'byte') return `y${mark}`;
  if (property.type === 'integer' && property.format === 'int64') return `l${mark}`;
  const plain = PLAIN[property.type ?? ''];
  return plain === undefined ? `*${written}` : `${plain}${mark}`;
}

const goFolder = fileURLToPath(new URL('../tools/go-fields', import.meta.url));
const printed = execFileSync('go', ['run', '.'], {
  cwd: goFolder,
  encoding: 'utf8',
  maxBuffer: 2 ** 24,
});
const plane = await ControlPlane.start();
try {
  const transport = kubeConfigTransport(await readKubeConfig(plane));
  const get = async (path: string, query?: Record<string, string>): Promise<unknown> => {
    const response = await transport.request({
      method: 'GET',
      path,
      ...(query === undefined ? {} : { query }),
    });
    const chunks: Uint8Array[] = [];
    for await (const chunk of response.body) chunks.push(chunk);
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  };
  const definitions = new Map<string, Property>();
  const served = new Kinds().all();
  for (const prefix of new Set(
    served.map(({ group, version }) => (group === '' ? 'api/v1' : `apis/${group}/${version}`)),
  )) {
    const document = (await get(`/openapi/v3/${prefix}`)) as {
      components: { schemas: Record<string, Property> };
    };
    for (const [name, schema] of Object.entries(document.components.schemas))
      definitions.set(name, schema);
  }
  await transport.close?.();
  writeFileSync(TARGET, table(definitions, served, JSON.parse(printed) as GoFields));
} finally {
  await plane.stop();
}
