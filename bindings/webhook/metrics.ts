/**
 * Counts the answers of webhooks, and the handlers that failed by a bug. The webhook server counts
 * HTTP requests. controller-runtime: pkg/webhook/admission/metrics,
 * pkg/webhook/conversion/metrics.
 */
import {
  byName,
  expositionText,
  labelPairs,
  metricFamily,
  type Sample,
} from '../base/exposition.ts';
import type { Collector } from '../controller/index.ts';

/** The series that exist from the start, so that their rates begin at 0. */
const LIKELY = [
  ['true', 200],
  ['false', 400],
  ['false', 403],
  ['false', 500],
] as const;

export class AdmissionMetrics implements Collector {
  readonly name = 'admission webhooks';
  readonly #responses = new Map<string, number>();
  #panics = 0;

  add(webhook: string): void {
    for (const [allowed, code] of LIKELY) this.#count(webhook, allowed, code, 0);
  }

  responded(webhook: string, allowed: boolean, code: number): void {
    this.#count(webhook, String(allowed), code, 1);
  }

  panicked(): void {
    this.#panics++;
  }

  #count(webhook: string, allowed: string, code: number, more: number): void {
    const labels = labelPairs({ admission_code: String(code), allowed, webhook });
    this.#responses.set(labels, (this.#responses.get(labels) ?? 0) + more);
  }

  text(): string {
    return expositionText([
      ...metricFamily(
        'counter',
        'controller_runtime_webhook_admission_responses_total',
        'Total number of admission responses by status code and allowed status.',
        byName(this.#responses).map(([labels, count]): Sample => [labels, count]),
      ),
      ...metricFamily(
        'counter',
        'controller_runtime_webhook_panics_total',
        'Total number of webhook panics',
        [['', this.#panics]],
      ),
    ]);
  }
}

export class ConversionMetrics implements Collector {
  readonly name = 'conversion webhooks';
  #panics = 0;

  panicked(): void {
    this.#panics++;
  }

  text(): string {
    return expositionText(
      metricFamily(
        'counter',
        'controller_runtime_conversion_webhook_panics_total',
        'Total number of conversion webhook panics',
        [['', this.#panics]],
      ),
    );
  }
}
