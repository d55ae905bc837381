/**
 * Compiles expressions in CEL that are members of built-in kinds, and checks their result type.
 * apiserver: pkg/admission/plugin/cel/compile.go; dynamic-resource-allocation: cel.
 */
import type { Environment } from '@marcbachmann/cel-js';
import { UNSUPPORTED } from './compile.ts';
import { loadedCel } from './library.ts';

/** The types of the fields of types, by name. */
type Structs = Readonly<Record<string, Readonly<Record<string, string>>>>;

const GROUP_KIND = { group: 'string', version: 'string' };
const ADMISSION: Structs = {
  GroupVersionKind: { ...GROUP_KIND, kind: 'string' },
  GroupVersionResource: { ...GROUP_KIND, resource: 'string' },
  UserInfo: {
    ...{ username: 'string', uid: 'string' },
    ...{ groups: 'list<string>', extra: 'map<string, list<string>>' },
  },
  AdmissionRequest: {
    ...{ kind: 'GroupVersionKind', requestKind: 'GroupVersionKind' },
    ...{ resource: 'GroupVersionResource', requestResource: 'GroupVersionResource' },
    ...{ subResource: 'string', requestSubResource: 'string', name: 'string' },
    ...{ namespace: 'string', operation: 'string', userInfo: 'UserInfo', dryRun: 'bool' },
    options: 'dyn',
  },
};

const DEVICE: Structs = {
  Device: {
    ...{ driver: 'string', allowMultipleAllocations: 'bool' },
    ...{ attributes: 'map<string, map<string, dyn>>', capacity: 'map<string, map<string, dyn>>' },
  },
};

const ADMISSION_VARIABLES = {
  ...{ object: 'dyn', oldObject: 'dyn', namespaceObject: 'dyn', request: 'AdmissionRequest' },
};

function withTypes(env: Environment, structs: Structs): Environment {
  for (const [name, fields] of Object.entries(structs))
    env.registerType(name, { ctor: class {}, fields });
  return env;
}

/** Compiles expressions with the same variables. */
export class Compiler {
  readonly #env: Environment | undefined;
  readonly #composed: Record<string, string> = {};

  private constructor(structs: Structs, variables: Readonly<Record<string, string>>) {
    const env = loadedCel()?.base.clone();
    if (env === undefined) return;
    withTypes(env, structs);
    for (const [name, type] of Object.entries(variables)) env.registerVariable(name, type);
    this.#env = env;
  }

  /** For admission policies and the match conditions of webhooks. */
  static ofAdmission(hasParams: boolean): Compiler {
    return new Compiler(ADMISSION, {
      ...ADMISSION_VARIABLES,
      ...(hasParams ? { params: 'dyn' } : {}),
    });
  }

  /** For the device selectors of claims. */
  static ofDevices(): Compiler {
    return new Compiler(DEVICE, { device: 'Device' });
  }

  /** Adds the variable `variables.<name>` for later expressions. */
  define(name: string, expression: string): string | undefined {
    const found = this.#check(expression);
    if (found?.error !== undefined) return found.error;
    this.#composed[name] = found?.type ?? 'dyn';
    return undefined;
  }

  isDeclared(variable: string): boolean {
    return Object.hasOwn(this.#composed, variable);
  }

  /**
   * The error of an expression; undefined if there is none, or it cannot be determined.
   *
   * @param wanted the allowed types of its value
   */
  error(expression: string, wanted: readonly string[]): string | undefined {
    const found = this.#check(expression);
    if (found === undefined) return undefined;
    const { error, type } = found;
    if (error !== undefined || wanted.includes(type)) return error;
    return `must evaluate to ${wanted.join(' or ')} but got ${type}`;
  }

  #check(expression: string): { type: string; error?: string } | undefined {
    if (this.#env === undefined || UNSUPPORTED.test(expression)) return undefined;
    const env = this.#env.clone();
    if (Object.keys(this.#composed).length > 0) {
      env.registerType('Variables', { ctor: class {}, fields: this.#composed });
      env.registerVariable('variables', 'Variables');
    }
    try {
      const { valid, type = 'dyn', error } = env.parse(expression).check();
      return valid ? { type } : { type, error: `compilation failed: ${error?.message ?? ''}` };
    } catch (error) {
      return { type: 'dyn', error: `compilation failed: ${(error as Error).message}` };
    }
  }
}
