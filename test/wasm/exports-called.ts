/** The names of the exports of the core that `run` calls. In any runtime: it needs no module. */
export function exportsCalled<X extends object>(core: { x: X }, run: () => void): Set<string> {
  const names = new Set<string>();
  const { x } = core;
  core.x = new Proxy(x, {
    get(target, name) {
      names.add(String(name));
      return Reflect.get(target, name);
    },
  });
  try {
    run();
  } finally {
    core.x = x;
  }
  return names;
}
