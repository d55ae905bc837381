/** The ways in which a user function misbehaves. */

/** What the function may do to its caller. */
export interface Caller {
  /** Calls its caller's methods re-entrantly. */
  callBack(): void;
  /** Ends its caller. */
  end(): void;
}

export const MISBEHAVIOURS = [
  'throws once',
  'throws always',
  'answers with rubbish',
  'answers with a promise that is rejected',
  'answers with a promise that never settles',
  'calls back',
  'ends what it runs in',
] as const;
export type Misbehaviour = (typeof MISBEHAVIOURS)[number];

type Func = (...args: never[]) => unknown;

/** Wraps a function so that it misbehaves; `called` counts the misbehaving calls. */
export function misbehaving<F extends Func>(
  good: F,
  way: Misbehaviour,
  world: Caller,
): F & { called: number } {
  const bad = function (this: unknown, ...args: never[]): unknown {
    const first = bad.called++ === 0;
    switch (way) {
      case 'throws once':
        if (first) throw new Error(`mine: ${way}`);
        break;
      case 'throws always':
        throw new Error(`mine: ${way}`);
      case 'answers with rubbish':
        return Number.NaN;
      case 'answers with a promise that is rejected':
        return Promise.reject(new Error(`mine: ${way}`));
      case 'answers with a promise that never settles':
        return new Promise(() => undefined);
      case 'calls back':
        if (first) world.callBack();
        break;
      case 'ends what it runs in':
        if (first) world.end();
        break;
    }
    return good.apply(this, args);
  };
  bad.called = 0;
  return bad as unknown as F & { called: number };
}
