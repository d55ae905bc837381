/**
 * Macros of Kubernetes' CEL that the library does not have: comprehensions over two variables and
 * those of optional values. Each is written in terms of what the library has. cel-go:
 * ext/comprehensions.go, cel/library.go.
 */
import type { Environment } from '@marcbachmann/cel-js';

type Library = typeof import('@marcbachmann/cel-js');
type Node = Parameters<Library['serialize']>[0];

/** The indices of a list, or the keys of a map. No expression can have this name. */
const KEYS = 'capstan_keys';

/** From the receiver and the arguments, as text, to an expression. */
type Expand = (receiver: string, ...args: string[]) => string;

/** A call of `macro` over the keys, in which `value` is the variable of the value. */
const overKeys =
  (macro: string): Expand =>
  (of, key = '', value = '', ...bodies) => {
    const bound = bodies.map((body) => `cel.bind(${value}, ${of}[${key}], ${body})`);
    return `${KEYS}(${of}).${macro}(${key}, ${bound.join(', ')})`;
  };

const MACROS: readonly (readonly [signature: string, expand: Expand])[] = [
  ['dyn.all(ast, ast, ast): bool', overKeys('all')],
  ['dyn.exists(ast, ast, ast): bool', overKeys('exists')],
  ['dyn.exists_one(ast, ast, ast): bool', overKeys('exists_one')],
  ['dyn.existsOne(ast, ast, ast): bool', overKeys('exists_one')],
  [
    'dyn.existsOne(ast, ast): bool',
    (of, name = '', body = '') => `${of}.exists_one(${name}, ${body})`,
  ],
  ['dyn.transformList(ast, ast, ast): list<dyn>', overKeys('map')],
  ['dyn.transformList(ast, ast, ast, ast): list<dyn>', overKeys('map')],
  [
    'dyn.optMap(ast, ast): dyn',
    (of, name = '', body = '') =>
      `${of}.hasValue() ? optional.of(cel.bind(${name}, ${of}.value(), ${body})) : optional.none()`,
  ],
  [
    'dyn.optFlatMap(ast, ast): dyn',
    (of, name = '', body = '') =>
      `${of}.hasValue() ? cel.bind(${name}, ${of}.value(), ${body}) : optional.none()`,
  ],
];

interface Macro {
  receiver: Node;
  args: readonly Node[];
  body?: Node;
}

/** The parts of the library's checker and evaluator that a macro calls. */
interface MacroChecker {
  check(node: Node, context: unknown): unknown;
}
interface Evaluator {
  run(node: Node, context: unknown): unknown;
}

export function registerMacros(env: Environment, { serialize }: Library): void {
  env.registerFunction(`${KEYS}(list): list<int>`, (list: readonly unknown[]) =>
    Array.from(list, (_, at) => BigInt(at)),
  );
  env.registerFunction(`${KEYS}(map): list<dyn>`, (map: object) =>
    map instanceof Map ? [...map.keys()] : Object.keys(map),
  );
  let parser: Environment | undefined;
  for (const [signature, expand] of MACROS) {
    const handler = ({ receiver, args }: Macro) => ({
      receiver,
      args,
      // The library parses one expression at a time, and this one belongs to another.
      typeCheck(checker: MacroChecker, macro: Macro, context: unknown) {
        parser ??= env.clone();
        const [of, ...texts] = [macro.receiver, ...macro.args].map((node) => serialize(node));
        macro.body ??= parser.parse(expand(`(${of})`, ...texts)).ast;
        return checker.check(macro.body, context);
      },
      evaluate: (evaluator: Evaluator, { body }: Required<Macro>, context: unknown) =>
        evaluator.run(body, context),
    });
    env.registerFunction(signature, handler as never);
  }
}
