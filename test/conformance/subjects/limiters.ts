/** ratelimiters: the limiters of a trace's `limiter`, and the tolerance of their durations. */
import {
  BucketRateLimiter,
  FakeClock,
  ItemExponentialFailureRateLimiter,
  ItemFastSlowRateLimiter,
  MaxOfRateLimiter,
  type RateLimiter,
  WithMaxWaitRateLimiter,
} from 'capstan/workqueue';
import type { Trace, TraceStep, TraceSubject } from '../runner.ts';
import { numberField, textField, unknownOp } from './fields.ts';
import { type Items, withItems } from './items.ts';

interface Duration {
  readonly ns: string; // exact, may exceed 2^53
}

export type LimiterSpec =
  | { readonly type: 'exponential'; readonly base: Duration; readonly max: Duration }
  | {
      readonly type: 'fastSlow';
      readonly fast: Duration;
      readonly slow: Duration;
      readonly maxFast: number;
    }
  | { readonly type: 'bucket'; readonly qps: number; readonly burst: number }
  | { readonly type: 'maxOf'; readonly of: readonly LimiterSpec[] }
  | { readonly type: 'withMaxWait'; readonly of: LimiterSpec; readonly max: Duration };

const toMs = ({ ns }: Duration): number => Number(ns) / 1e6;

export function makeLimiter<T>(
  spec: LimiterSpec,
  clock: FakeClock,
  items: Items<T>,
): RateLimiter<T> {
  const options = { clock, key: items.key };
  switch (spec.type) {
    case 'exponential':
      return new ItemExponentialFailureRateLimiter<T>(toMs(spec.base), toMs(spec.max), options);
    case 'fastSlow':
      return new ItemFastSlowRateLimiter<T>(
        toMs(spec.fast),
        toMs(spec.slow),
        spec.maxFast,
        options,
      );
    case 'bucket':
      return new BucketRateLimiter<T>(spec.qps, spec.burst, options);
    case 'maxOf':
      return new MaxOfRateLimiter<T>(...spec.of.map((one) => makeLimiter(one, clock, items)));
    case 'withMaxWait':
      return new WithMaxWaitRateLimiter<T>(makeLimiter(spec.of, clock, items), toMs(spec.max));
    default:
      throw new TypeError(`unknown limiter ${JSON.stringify(spec)}`);
  }
}

function hasBucket(spec: LimiterSpec): boolean {
  if (spec.type === 'maxOf') return spec.of.some(hasBucket);
  if (spec.type === 'withMaxWait') return hasBucket(spec.of);
  return spec.type === 'bucket';
}

interface LimiterTrace extends Trace {
  readonly toleranceNs: number;
}

/**
 * Whether a delay in milliseconds equals a recorded one in nanoseconds. Without a bucket they agree
 * exactly below 2^52 ns (52 days); above that a double of milliseconds has no more than its 53
 * bits. client-go's bucket computes in float64 seconds and truncates to nanoseconds, so there a
 * microsecond is allowed.
 */
export function sameDelay(wantNs: string, gotMs: unknown, toleranceNs: number): boolean {
  if (typeof gotMs !== 'number') return false;
  const want = Number(wantNs);
  const off = Math.abs(Math.round(gotMs * 1e6) - want);
  return off <= Math.max(toleranceNs, want * 2 ** -52);
}

function begin<T>(first: TraceStep, items: Items<T>): LimiterTrace {
  const clock = new FakeClock();
  const spec = first.limiter as LimiterSpec;
  const limiter = makeLimiter(spec, clock, items);
  const observe = (step: TraceStep): object => {
    switch (step.op) {
      case 'new':
        return {};
      case 'when':
        return { want: limiter.when(items.make(textField(step, 'key'))) };
      case 'whenMany': {
        const count = (step.wantNs as readonly string[]).length;
        const key = textField(step, 'key');
        return { wantNs: Array.from({ length: count }, () => limiter.when(items.make(key))) };
      }
      case 'forget':
        limiter.forget(items.make(textField(step, 'key')));
        return {};
      case 'numRequeues':
        return { want: limiter.numRequeues(items.make(textField(step, 'key'))) };
      case 'step':
        clock.step(numberField(step, 'ms'));
        return {};
      default:
        throw unknownOp(step);
    }
  };
  return {
    toleranceNs: hasBucket(spec) ? 1_000 : 0,
    step: (step) => ({ ...observe(step), now: clock.now() }),
  };
}

export const ratelimiters: TraceSubject = {
  observes: ['want', 'wantNs', 'now'],
  begin: (step, { form }) => withItems(form, (items) => begin(step, items)),
  same(field, want, got, trace) {
    const { toleranceNs } = trace as LimiterTrace;
    if (field === 'wantNs') {
      const list = want as readonly string[];
      return Array.isArray(got) && list.every((ns, i) => sameDelay(ns, got[i], toleranceNs));
    }
    return typeof want === 'object' && want !== null
      ? sameDelay((want as Duration).ns, got, toleranceNs)
      : Object.is(want, got);
  },
};
