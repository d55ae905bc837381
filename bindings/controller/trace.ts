/**
 * Makes a span for each reconcile with an OpenTelemetry tracer. If the tracer fails, only the span
 * is lost: the reconcile still runs exactly once.
 */
import { textOfError } from '../base/error-text.ts';
import { isError } from '../base/errors.ts';
import { handleError, tell } from '../base/handle-error.ts';
import type { Span, Tracer } from './manager.ts';
import { requestText } from './own-requests.ts';
import type { Outcome } from './reconcile.ts';
import type { Run } from './run.ts';

/** @opentelemetry/api: SpanStatusCode.ERROR. */
const ERROR = 2;

export function traced(
  tracer: Tracer,
  controller: string,
  run: Run,
  reconcile: () => Promise<Outcome>,
): Promise<Outcome> {
  const attributes = {
    controller,
    key: requestText(run.request),
    reconcileId: run.id,
    attempt: run.attempt,
  };
  let running: Promise<Outcome> | undefined;
  const once = (): Promise<Outcome> => {
    running ??= reconcile();
    return running;
  };
  try {
    const answer: unknown = tracer.startActiveSpan(
      `reconcile ${controller}`,
      { attributes },
      (span) => {
        const outcome = once();
        void outcome.then((ended) => finish(span, ended));
        return outcome;
      },
    );
    // A tracer may return a promise of its own, which may reject on its own.
    if (answer !== running)
      Promise.resolve(answer).catch((error: unknown) => handleError(error, 'tracer'));
  } catch (error) {
    handleError(error, 'tracer');
  }
  return once();
}

/**
 * Never throws. A span that is not ended is never exported, so it is ended even if the other calls
 * fail.
 */
function finish(span: Span, outcome: Outcome): void {
  guarded(() => span.setAttribute('outcome', outcome.kind));
  if (outcome.kind === 'error' || outcome.kind === 'terminal') {
    const message = textOfError(outcome.error);
    guarded(() =>
      span.recordException(isError(outcome.error) ? outcome.error : new Error(message)),
    );
    guarded(() => span.setStatus({ code: ERROR, message }));
  }
  guarded(() => span.end());
}

function guarded(run: () => unknown): void {
  tell(run, 'tracer');
}
