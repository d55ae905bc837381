/** What the bundler of bundle.ts adds to each suite. */
declare module 'capstan-test:given' {
  /** The modules of test/workqueue/cases/, by file name. */
  export const cases: readonly (readonly [
    file: string,
    module: Readonly<Record<string, unknown>>,
  ])[];
  /** The recorded traces of the covered subjects. */
  export const vectors: readonly (readonly [file: string, text: string])[];
}
