/**
 * Compiles the rules in CEL of a schema, once. apiextensions-apiserver:
 * pkg/apiserver/schema/cel/compilation.go.
 */
import type { ParseResult } from '@marcbachmann/cel-js';
import { type Json, type JsonObject, stringAt } from '../json.ts';
import { type Schema, validationRules } from '../schema/structural.ts';
import { loadedCel } from './library.ts';
import { celTypeOf } from './types.ts';

export interface CompiledRule {
  /** The rule in the definition. */
  given: JsonObject;
  usesOldSelf: boolean;
  /** The error of the rule; that of `messageExpression` is in `messageError`. */
  error?: string;
  messageError?: string;
  /** Whether the value satisfies the rule. Throws if the evaluation fails. */
  holds?: (value: Json, old: Json | undefined) => boolean;
  message?: (value: Json, old: Json | undefined) => string;
}

/**
 * Kubernetes' CEL functions that the library does not have: rules with them are neither refused nor
 * evaluated.
 */
export const UNSUPPORTED = new RegExp(
  [/\.(?:transformMap|transformMapEntry|sortBy)\(/, /\bjsonpatch\b|\bauthorizer\b/]
    .map(({ source }) => source)
    .join('|'),
);

const compiled = new WeakMap<Schema, CompiledRule[]>();

/**
 * Returns no rules if the library is not installed.
 *
 * @param isRoot the schema is that of the whole object
 */
export function compileRules(schema: Schema, isRoot: boolean): CompiledRule[] {
  const cel = loadedCel();
  const given = cel === undefined ? [] : validationRules(schema);
  if (cel === undefined || given.length === 0) return [];
  let rules = compiled.get(schema);
  if (rules !== undefined) return rules;
  const env = cel.base.clone();
  const type = celTypeOf(env, schema, isRoot);
  rules =
    type === undefined
      ? []
      : given.map((rule) => {
          const own = env.clone();
          own.registerVariable('self', type.name);
          const optional = rule.optionalOldSelf === true;
          own.registerVariable('oldSelf', optional ? `optional<${type.name}>` : type.name);
          const text = stringAt(rule, 'rule');
          const activation = (value: Json, old: Json | undefined): Record<string, unknown> => ({
            self: type.read(value),
            ...(optional
              ? {
                  oldSelf:
                    old === undefined || old === null
                      ? cel.library.Optional.none()
                      : cel.library.Optional.of(type.read(old)),
                }
              : old === undefined
                ? {}
                : { oldSelf: type.read(old) }),
          });
          const parse = (expression: string, wanted: string): ParseResult | string | undefined => {
            if (UNSUPPORTED.test(expression)) return undefined;
            try {
              const program = own.parse(expression);
              const { valid, type: found, error } = program.check();
              if (!valid) return `compilation failed: ${error?.message ?? ''}`;
              if (found !== wanted && found !== 'dyn') return `must evaluate to a ${wanted}`;
              return program;
            } catch (error) {
              return `compilation failed: ${(error as Error).message}`;
            }
          };
          const compiledRule: CompiledRule = { given: rule, usesOldSelf: /\boldSelf\b/.test(text) };
          const program = text.trim() === '' ? undefined : parse(text, 'bool');
          if (typeof program === 'string') return { ...compiledRule, error: program };
          if (program !== undefined)
            compiledRule.holds = (value, old) => program(activation(value, old)) === true;
          const expression = stringAt(rule, 'messageExpression');
          const message = expression.trim() === '' ? undefined : parse(expression, 'string');
          if (typeof message === 'string') return { ...compiledRule, messageError: message };
          if (message !== undefined)
            compiledRule.message = (value, old) => String(message(activation(value, old)));
          return compiledRule;
        });
  compiled.set(schema, rules);
  return rules;
}
