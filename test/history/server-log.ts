/**
 * The embedded server's own log of writes: a watch from its first version, on a connection without
 * faults.
 */
import type { KubeObject, Transport } from 'capstan/cache';
import { keyOf, objectVersion, type ServerLogEntry } from '../helpers/history/content.ts';

export class ServerLog {
  readonly entries: ServerLogEntry[] = [];
  readonly #abort = new AbortController();
  #ended: unknown;
  #wake: () => void = () => undefined;

  /** @param path of the collection in all namespaces, before its first write */
  static async open(transport: Transport, path: string): Promise<ServerLog> {
    const log = new ServerLog();
    const query = { watch: 'true', resourceVersion: '0' };
    const { status, body } = await transport.request({
      method: 'GET',
      path,
      query,
      signal: log.#abort.signal,
    });
    if (status !== 200) throw new Error(`the log of ${path}: ${status}`);
    log.#read(body).then(
      () => log.#end(new Error('the server ended the log')),
      (error: unknown) => log.#end(error),
    );
    return log;
  }

  /** Resolves when the log has the object of this name, and so all writes before it. */
  async caughtUp(name: string): Promise<void> {
    while (!this.entries.some(({ key }) => key.endsWith(`/${name}`))) {
      if (this.#ended !== undefined) throw this.#ended;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  close(): void {
    this.#abort.abort();
  }

  async #read(body: AsyncIterable<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let text = '';
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true });
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines)
        this.#take(JSON.parse(line) as { type: string; object: KubeObject });
      this.#wake();
    }
  }

  #take({ type, object }: { type: string; object: KubeObject }): void {
    if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED')
      throw new Error(`the log has ${type}`);
    const removed = type === 'DELETED';
    this.entries.push({
      key: keyOf(object),
      version: objectVersion(object),
      object: removed ? undefined : object,
    });
  }

  #end(error: unknown): void {
    this.#ended ??= error;
    this.#wake();
  }
}
