/**
 * Reads and writes single objects over a transport. An error answer of the server becomes a
 * StatusError.
 */
import { type Resource, type Status, StatusError, type Transport } from 'capstan/cache';

type Kind = Pick<Resource<never, string>, 'group' | 'version' | 'plural'>;

/**
 * A path such as `/apis/apps/v1/namespaces/default/deployments/web/status`; later parts may be left
 * out.
 */
export function pathOf(
  { group, version, plural }: Kind,
  namespace = '',
  name = '',
  subresource = '',
): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = namespace === '' ? '' : `/namespaces/${namespace}`;
  return [`${root}${scope}/${plural}`, name, subresource].filter((part) => part !== '').join('/');
}

export class Api {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** `undefined` for an object that does not exist. */
  async get<T>(path: string, signal?: AbortSignal): Promise<T | undefined> {
    return this.#orNotFound(this.send<T>('GET', path, { signal }));
  }

  create<T>(path: string, object: object, signal?: AbortSignal): Promise<T> {
    return this.send<T>('POST', path, { body: object, signal });
  }

  /**
   * A merge patch (RFC 7386). With `metadata.resourceVersion` in it, it fails with 409 if the
   * object changed meanwhile.
   */
  patch<T>(path: string, patch: object, signal?: AbortSignal): Promise<T> {
    return this.send<T>('PATCH', path, {
      body: patch,
      signal,
      contentType: 'application/merge-patch+json',
    });
  }

  /** Deletes an object. No error if it does not exist. */
  async delete(path: string, signal?: AbortSignal): Promise<void> {
    await this.#orNotFound(this.send('DELETE', path, { signal }));
  }

  /** All objects of a collection, read in pages. */
  async list<T>(path: string, signal?: AbortSignal): Promise<T[]> {
    const items: T[] = [];
    let next = '';
    do {
      const query: Record<string, string> = { limit: '500' };
      if (next !== '') query.continue = next;
      const page = await this.send<{ items: T[]; metadata: { continue?: string } }>('GET', path, {
        query,
        signal,
      });
      items.push(...page.items);
      next = page.metadata.continue ?? '';
    } while (next !== '');
    return items;
  }

  async send<T>(
    method: string,
    path: string,
    options: {
      body?: object;
      contentType?: string;
      query?: Record<string, string>;
      signal?: AbortSignal;
    } = {},
  ): Promise<T> {
    const { body, contentType = 'application/json', query, signal } = options;
    const headers: Record<string, string> = { accept: 'application/json' };
    if (body !== undefined) headers['content-type'] = contentType;
    const request = {
      method,
      path,
      query,
      headers,
      signal,
      body: body === undefined ? undefined : JSON.stringify(body),
    };
    const response = await this.#transport.request(request);
    const text = await readText(response.body);
    if (response.status >= 200 && response.status < 300) return JSON.parse(text) as T;
    throw new StatusError(response.status, statusOf(text, response.status), `${method} ${path}`);
  }

  async #orNotFound<T>(answer: Promise<T>): Promise<T | undefined> {
    try {
      return await answer;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }
}

/**
 * Whether the object does not exist. A 404 without these details comes from a server that does not
 * serve the resource (yet) and says nothing about the object.
 */
export function isNotFound(error: unknown): boolean {
  return error instanceof StatusError && error.status === 404 && error.reason === 'NotFound';
}

/** Whether the write conflicts: the object has another resourceVersion, or exists already. */
export function isConflict(error: unknown): boolean {
  return error instanceof StatusError && error.status === 409;
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
}

function statusOf(text: string, code: number): Status {
  try {
    return JSON.parse(text) as Status;
  } catch {
    return { message: text.slice(0, 200), code }; // an error page of a proxy
  }
}
