/**
 * Guards at the seam to WebAssembly. Whatever an export throws goes through `trapped`. Those that
 * are passed on as they are make up the hot path, as the engine compiles such a call into its
 * caller. Code that calls one of them catches what it throws and throws `trapped` of that. All
 * others are guarded. test/wasm/core-traps.test.ts traps in each export, in every call that reaches
 * it.
 */

/** None of the guarded ones takes more than six arguments; Wasm ignores what is too much. */
type Export = (
  a?: unknown,
  b?: unknown,
  c?: unknown,
  d?: unknown,
  e?: unknown,
  f?: unknown,
) => unknown;

export function guardWith(trapped: (cause: unknown) => unknown): <F>(call: F) => F {
  return <F>(call: F): F => {
    const run = call as Export;
    const guarded: Export = (a, b, c, d, e, f) => {
      try {
        return run(a, b, c, d, e, f);
      } catch (cause) {
        throw trapped(cause);
      }
    };
    return guarded as F;
  };
}
