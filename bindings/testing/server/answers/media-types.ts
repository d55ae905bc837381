/**
 * Media types: of request bodies (JSON, protobuf or, with the peer `yaml`, YAML), and of answers by
 * the Accept header, in which protobuf is skipped. Types that the real server does not support are
 * refused with its messages.
 */

import { jsonOfProtobuf } from '../protobuf/objects.ts';
import type { Kind } from '../registry/kinds.ts';
import { type Incoming, readBody, readRequestBytes, unrecognized } from '../request/body.ts';
import { ApiError, notAcceptable, unsupportedMediaType } from '../status.ts';
import { metadataViews, type View, wholeObjects } from './views.ts';
import { jsonOfYaml, type Sent } from './yaml.ts';

export const YAML = 'application/yaml';
const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';
const APPLY = 'application/apply-patch+yaml';

export type PatchType = 'json' | 'merge' | 'strategic' | 'apply';

const PATCH_TYPES = new Map<string, PatchType>([
  [JSON_PATCH, 'json'],
  [MERGE_PATCH, 'merge'],
  [STRATEGIC, 'strategic'],
  [APPLY, 'apply'],
]);

/** The type of a patch. Throws 415 for one that the kind does not support. */
export function patchTypeOf(kind: Kind, type: string): PatchType {
  const known = PATCH_TYPES.get(type);
  if (known !== undefined && (known !== 'strategic' || kind.builtIn)) return known;
  if (!kind.builtIn) throw unsupportedMediaType([JSON_PATCH, MERGE_PATCH, APPLY]);
  throw new ApiError(415, '415: Unsupported Media Type', {
    reason: 'UnsupportedMediaType',
    details: {},
  });
}

/** '' when the request has no Content-Type. */
export const mediaType = (request: Incoming): string =>
  (request.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';

export type AnswerShape = 'object' | 'list';

/**
 * The view for the first range of the Accept header that this server can serve. Throws 406. If the
 * client accepts only a list's metadata where the answer is an object, or the reverse, the view
 * throws 406 when it is used, as the real server does.
 *
 * @param shape of the answer; undefined for watches and writes, for which either form is accepted
 */
export function viewFor(
  accept: string | undefined,
  kind: Kind,
  shape: AnswerShape | undefined,
  table: (version: string) => View,
): View {
  if (accept === undefined || accept.trim() === '') return wholeObjects;
  const ranges = rangesOf(accept);
  for (const { type, parameters } of ranges) {
    if (!SERVED.includes(type)) continue;
    const as = parameters.get('as');
    if (as === undefined) return wholeObjects;
    if (parameters.get('g') !== 'meta.k8s.io') continue;
    const version = parameters.get('v') ?? '';
    if (as === 'Table' && /^v1(beta1)?$/.test(version)) return table(version);
    const view = metadataViews.get(`${as} ${version}`);
    if (view === undefined) continue;
    const isList = as.endsWith('List');
    return shape !== undefined && isList !== (shape === 'list')
      ? throwingView(view, wrongShape(kind, as, isList))
      : view;
  }
  throw notAcceptable(ranges.some(({ type }) => SERVED.includes(type)));
}

function throwingView(view: View, error: ApiError): View {
  const refuse = (): never => {
    throw error;
  };
  return { ...view, object: refuse, list: refuse };
}

const SERVED = ['*/*', 'application/json', YAML];

/** Whether YAML is the first accepted type that this server supports. */
export function wantsYaml(accept: string | undefined): boolean {
  return rangesOf(accept ?? '').find(({ type }) => SERVED.includes(type))?.type === YAML;
}

interface Range {
  type: string;
  parameters: ReadonlyMap<string, string>;
}

/** The ranges of an Accept header, sorted by preference; goautoneg. */
function rangesOf(accept: string): Range[] {
  const ranges = accept.split(',').map((range) => {
    const [type = '', ...rest] = range.split(';').map((part) => part.trim());
    const parameters = new Map(rest.map((part) => part.split('=', 2) as [string, string]));
    return { type, parameters, weight: Number(parameters.get('q') ?? 1) };
  });
  return ranges.sort((a, b) => b.weight - a.weight);
}

/**
 * apiserver: endpoints/handlers/response.go asPartialObjectMetadata and
 * asPartialObjectMetadataList.
 */
function wrongShape(kind: Kind, as: string, isList: boolean): ApiError {
  if (!kind.builtIn && isList) return new ApiError(500, 'content is not a list');
  const internal =
    kind.group === '' || kind.group === 'events.k8s.io' ? 'core' : kind.group.split('.')[0];
  const suffix = isList ? '' : 'List';
  const type = kind.builtIn
    ? `*${internal}.${kind.kind}${suffix}`
    : '*unstructured.UnstructuredList';
  const why =
    `you requested ${as}, but the requested object is ` +
    `${isList ? 'not a list' : 'a list'} (${type})`;
  return new ApiError(406, why, { reason: 'NotAcceptable' });
}

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const BODIES = ['application/json', YAML, PROTOBUF];

/** The body as JSON, by its media type; the default is JSON. */
export async function readObject(kind: Kind, request: Incoming): Promise<Sent> {
  const body = await readRequestBytes(request);
  const type = mediaType(request);
  if (type === PROTOBUF && kind.builtIn) return { text: fromProtobuf(kind, body), problems: [] };
  const text = body.toString('utf8');
  if (type === YAML) return jsonOfYaml(text);
  if (type !== '' && type !== 'application/json')
    throw unsupportedMediaType(kind.builtIn ? BODIES : BODIES.slice(0, 2));
  return { text, problems: [] };
}

/** The options of a deletion, which may be protobuf for custom kinds too. */
export async function readOptions(kind: Kind, request: Incoming): Promise<string> {
  if (mediaType(request) !== PROTOBUF) return readBody(request);
  const body = await readRequestBytes(request);
  return body.length === 0 ? '' : fromProtobuf(kind, body);
}

function fromProtobuf(kind: Kind, body: Buffer): string {
  try {
    return jsonOfProtobuf(body);
  } catch (error) {
    throw unrecognized(kind, body, (error as Error).message);
  }
}
