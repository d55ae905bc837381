/** Caches that are behind, as a test says: a transport whose watches deliver nothing while its gate is shut. */
import { type Transport, TransportError, type TransportResponse } from 'capstan/cache';

export class Gate {
  #opened: Promise<void> = Promise.resolve();
  #open: () => void = () => undefined;
  #cuts = 0;

  /** From now on watches deliver nothing; lists are answered. */
  shut(): void {
    this.#open();
    this.#opened = new Promise((resolve) => {
      this.#open = resolve;
    });
  }

  /** What was held back comes, and what follows too. */
  open(): void {
    this.#open();
    this.#opened = Promise.resolve();
  }

  /** What is held back is lost, with its connections; watches that are opened afterwards deliver. */
  cut(): void {
    this.#cuts++;
    this.open();
  }

  transport(inner: Transport): Transport {
    return {
      request: async (request) => {
        const response = await inner.request(request);
        return request.query?.watch === 'true'
          ? { ...response, body: this.#held(response), headers: response.headers }
          : response;
      },
      close: async () => inner.close?.(),
    };
  }

  async *#held({ body }: TransportResponse): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      const cuts = this.#cuts;
      await this.#opened;
      if (cuts !== this.#cuts) throw new TransportError('reset', 'the gate cut the watch');
      yield chunk;
    }
  }
}
