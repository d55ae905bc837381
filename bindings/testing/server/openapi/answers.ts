/**
 * Answers /openapi/v2 and /openapi/v3: chooses the document and its form, and sends 304 if the
 * client has it. kube-openapi: pkg/handler and pkg/handler3.
 */
import type { IncomingHttpHeaders } from 'node:http';
import type { Headers } from '../answers/output.ts';
import type { Document, Documents } from './documents.ts';

export interface OpenApiAnswer {
  code: number;
  type: string;
  body: string;
  headers?: Headers;
}

const JSON_TYPES = ['application/json', 'application/*', '*/*'];
/** Answers without a body have no Content-Type. */
const empty = (code: number, headers: Headers = {}): OpenApiAnswer => ({
  code,
  type: '',
  body: '',
  headers,
});

/** One year: a document whose URL has its hash never changes. */
const EXPIRES_MS = 365 * 24 * 60 * 60 * 1000;

/**
 * Returns undefined for an unknown path.
 *
 * @param path what follows `/openapi/`
 * @param now milliseconds since 1970
 */
export async function openApi(
  documents: Documents,
  path: string,
  query: URLSearchParams,
  headers: IncomingHttpHeaders,
  now: number,
): Promise<OpenApiAnswer | undefined> {
  if (path === 'v3') {
    const body = await documents.index();
    return { code: 200, type: 'text/plain; charset=utf-8', body };
  }
  if (path === 'v2') {
    const vary = { Vary: 'Accept-Encoding, Accept' };
    if (!acceptsJson(headers.accept)) return empty(406, vary);
    return answer(await documents.v2(), headers, vary);
  }
  if (!path.startsWith('v3/')) return undefined;
  const name = path.slice(3);
  const document = await documents.v3(name);
  if (document === undefined) return empty(404);
  const vary = { Vary: 'Accept' };
  if (!acceptsJson(headers.accept)) return empty(406, vary);
  const hash = query.get('hash') ?? '';
  if (hash === '') return answer(document, headers, vary);
  if (hash !== document.hash) {
    const location = `/openapi/v3/${name}?hash=${document.hash}`;
    const headers = { ...vary, Location: location, Etag: `"${document.hash}"` };
    return { ...empty(301, headers), type: 'application/json' };
  }
  return answer(document, headers, {
    ...vary,
    'Cache-Control': 'public, immutable',
    Expires: new Date(now + EXPIRES_MS).toUTCString(),
  });
}

function answer({ text, hash }: Document, requestHeaders: IncomingHttpHeaders, more: Headers) {
  const headers = { ...more, Etag: `"${hash}"` };
  const had = (requestHeaders['if-none-match'] ?? '').split(',').map((tag) => tag.trim());
  if (had.includes(headers.Etag) || had.includes('*')) return empty(304, headers);
  return { code: 200, type: 'application/json', body: text, headers };
}

function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === '') return true;
  const types = accept.split(',').map((range) => range.split(';')[0]?.trim() ?? '');
  return types.some((type) => JSON_TYPES.includes(type));
}
