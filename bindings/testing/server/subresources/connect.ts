/**
 * Subresources that need a kubelet, which does not exist here: logs, exec, attach, port forwards
 * and proxies. They answer as a kube-apiserver that reaches no kubelet. kubernetes:
 * pkg/registry/core/pod/rest, pkg/registry/core/pod/strategy.go LogLocation.
 */
import { isObject, type JsonObject, memberObject, stringAt } from '../json.ts';
import type { ResourcePath } from '../paths.ts';
import type { Registry } from '../registry/registry.ts';
import { ApiError, badRequest, fieldInvalid, invalidObject, notFound } from '../status.ts';
import { readTime, TimeError } from '../times.ts';

const KUBELET_SUBRESOURCES = ['attach', 'exec', 'log', 'portforward', 'proxy'];

/** Whether the subresource needs a kubelet. */
export const needsKubelet = (subresource: string): boolean =>
  KUBELET_SUBRESOURCES.includes(subresource.split('/')[0] ?? '');

/** Throws the real server's error. Without one the answer is 204: there is no log. */
export function connect(registry: Registry, path: ResourcePath, query: URLSearchParams): void {
  const [what = ''] = path.subresource.split('/');
  if (what === 'log') requireLogOptions(path.name, query);
  if (what === 'portforward') requirePorts(query);
  const object = registry.get({ ...path, subresource: '' }, 0).object;
  if (what === 'proxy') throw noProxy(path);
  const spec = memberObject(object, 'spec');
  requireContainer(path.name, spec, what === 'portforward' ? undefined : query.get('container'));
  const node = stringAt(spec, 'nodeName');
  if (node === '') {
    if (what === 'log') return;
    throw badRequest(`pod ${path.name} does not have a host assigned`);
  }
  const found = registry.store({ group: '', version: 'v1', plural: 'nodes' }).get(node);
  if (found === undefined) throw notFound({ group: '', what: 'pods', name: node });
  if (what !== 'log') throw badRequest('Upgrade request required');
  throw new ApiError(500, `no kubelet answers for node ${JSON.stringify(node)}`);
}

function noProxy({ resource, name }: ResourcePath): ApiError {
  if (resource.plural !== 'services') return badRequest('address not allowed');
  return notFound({ group: '', what: 'services', name });
}

function requireContainer(
  pod: string,
  spec: JsonObject,
  requested: string | null | undefined,
): void {
  if (requested === undefined) return;
  const names = ['containers', 'initContainers', 'ephemeralContainers'].map((member) => {
    const list = spec[member];
    return Array.isArray(list) ? list.filter(isObject).map((each) => stringAt(each, 'name')) : [];
  });
  const [containers = []] = names;
  if (requested === null || requested === '') {
    if (containers.length < 2) return;
    const why = `choose one of: [${names.flat().join(' ')}]`;
    throw badRequest(`a container name must be specified for pod ${pod}, ${why}`);
  }
  if (!names.flat().includes(requested))
    throw badRequest(`container ${requested} is not valid for pod ${pod}`);
}

/** apis/core/validation ValidatePodLogOptions. */
const MINIMUM: Readonly<Record<string, number>> = { sinceSeconds: 1, tailLines: 0, limitBytes: 1 };

function requireLogOptions(name: string, query: URLSearchParams): void {
  const time = query.get('sinceTime') ?? '';
  try {
    if (time !== '') readTime(time, false);
  } catch (error) {
    throw error instanceof TimeError ? badRequest(error.message) : error;
  }
  const errors = Object.entries(MINIMUM).flatMap(([option, least]) => {
    const text = query.get(option) ?? '';
    if (text === '') return [];
    if (!/^[+-]?\d+$/.test(text))
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
    const value = Number(text);
    const why = `must be greater than ${least === 0 ? 'or equal to ' : ''}0`;
    return value < least ? [fieldInvalid(option, value, why)] : [];
  });
  if (time !== '' && (query.get('sinceSeconds') ?? '') !== '') {
    const why = 'at most one of `sinceTime` or `sinceSeconds` may be specified';
    errors.push({ field: '', reason: 'FieldValueForbidden', message: `Forbidden: ${why}` });
  }
  if (errors.length > 0) throw invalidObject({ group: '', what: 'PodLogOptions', name }, errors);
}

function requirePorts(query: URLSearchParams): void {
  const wrong = query
    .getAll('ports')
    .flatMap((text) => text.split(','))
    .find((text) => text !== '' && !/^\d+$/.test(text));
  if (wrong === undefined) return;
  const why = `strconv.ParseUint: parsing ${JSON.stringify(wrong)}: invalid syntax`;
  throw badRequest(`cannot convert to []int32: ${why}`);
}
