/** A tracer that records its spans. */
import type { Span, Tracer } from 'capstan/controller';

export class FakeTracer implements Tracer {
  readonly spans: {
    name: string;
    attributes: Record<string, unknown>;
    exceptions: Error[];
    status?: object;
    ended: boolean;
  }[] = [];

  startActiveSpan<R>(
    name: string,
    options: { attributes?: Record<string, string | number | boolean> },
    run: (span: Span) => R,
  ): R {
    const attributes = { ...options.attributes };
    const record: FakeTracer['spans'][number] = { name, attributes, exceptions: [], ended: false };
    this.spans.push(record);
    return run({
      setAttribute: (key, value) => Object.assign(attributes, { [key]: value }),
      recordException: (error) => void record.exceptions.push(error),
      setStatus: (status) => {
        record.status = status;
      },
      end: () => {
        record.ended = true;
      },
    });
  }
}
