/** The names of the core's exports that `run` calls; it runs on every runtime. */
export function exportsCalled<X extends object>(
  core: { exports: X },
  run: () => void,
): Set<string> {
  const names = new Set<string>();
  const { exports } = core;
  core.exports = new Proxy(exports, {
    get(target, name) {
      names.add(String(name));
      return Reflect.get(target, name);
    },
  });
  try {
    run();
  } finally {
    core.exports = exports;
  }
  return names;
}
