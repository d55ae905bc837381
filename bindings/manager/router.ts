/**
 * Chooses the handler of a request by its path. A pattern that ends with a slash matches all paths
 * below it, any other matches only itself; the longest match wins. Go: net/http ServeMux.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CapstanError, invalid, requireFunction } from '../base/errors.ts';

/**
 * Responds to a request. If it throws or rejects, the error is reported and the response is 500.
 */
export type HTTPHandler = (
  request: IncomingMessage,
  response: ServerResponse,
) => void | Promise<void>;

/** The path and query of a request. The client may send any text. */
export function targetOf(request: IncomingMessage): { path: string; query: URLSearchParams } {
  const [path = '', search = ''] = (request.url ?? '').split(/\?(.*)/s);
  return { path: path === '' ? '/' : path, query: new URLSearchParams(search) };
}

export function sendText(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
  });
  response.end(text);
}

export const serveNotFound: HTTPHandler = (_, response) =>
  sendText(response, 404, '404 page not found\n');

export class Router {
  readonly #handlers = new Map<string, HTTPHandler>();

  /** Throws CapstanError INVALID_ARGUMENT for an invalid path, or one that has a handler. */
  handle(pattern: string, handler: HTTPHandler): void {
    if (typeof pattern !== 'string' || !/^\/[^?#\s]*$/.test(pattern)) {
      throw invalid('path', 'a path that starts with "/"', pattern);
    }
    requireFunction('handler', handler);
    if (this.#handlers.has(pattern)) {
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `the path ${pattern} already has a handler: use another one`,
      );
    }
    this.#handlers.set(pattern, handler);
  }

  get size(): number {
    return this.#handlers.size;
  }

  readonly serve: HTTPHandler = (request, response) => {
    const { path } = targetOf(request);
    const exact = this.#handlers.get(path);
    if (exact !== undefined) return exact(request, response);
    let best = '';
    for (const pattern of this.#handlers.keys()) {
      if (pattern.endsWith('/') && path.startsWith(pattern) && pattern.length > best.length)
        best = pattern;
    }
    return (this.#handlers.get(best) ?? serveNotFound)(request, response);
  };
}
