/**
 * Finds every function that a program can pass to the package, in the types of the sources:
 * parameters of exported functions and constructors, and members of the interfaces that they take,
 * recursively. `Type.member` names a member, `name(parameter)` a parameter.
 */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseAst } from 'rolldown/parseAst';

/** The members of a syntax tree node that are read. */
interface Node {
  readonly type: string;
  readonly [member: string]: unknown;
}

const ROOT = fileURLToPath(new URL('../../bindings/', import.meta.url));
/** Interfaces whose instances the package provides. */
const OURS =
  /^(Abort|Array|Map|Set|WeakMap|Promise|Readonly|Record|Partial|Pick|Omit|Required|NoInfer|Iterable|AsyncIterable|Uint8Array)/;

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && typeof (value as Node).type === 'string';
const nodes = (value: unknown): Node[] => (Array.isArray(value) ? value.filter(isNode) : []);
const nameOf = (node: unknown): string => {
  const { name, value } = (node ?? {}) as { name?: unknown; value?: unknown };
  return typeof name === 'string' ? name : typeof value === 'string' ? value : '';
};
/** The type T of `: T`. */
const typeOf = (annotation: unknown): Node | undefined =>
  isNode(annotation) ? ((annotation.typeAnnotation as Node) ?? undefined) : undefined;

interface Declarations {
  /** Interfaces and aliases, by name. */
  readonly types: Map<string, Node[]>;
  /** Functions and classes. */
  readonly values: Map<string, Node>;
}

function declarations(): Declarations {
  const types = new Map<string, Node[]>();
  const values = new Map<string, Node>();
  for (const file of globSync('**/*.ts', {
    cwd: ROOT,
    exclude: ['generated/**', '**/browser/**'],
  })) {
    const { body } = parseAst(readFileSync(`${ROOT}${file}`, 'utf8'), {
      lang: 'ts',
    }) as unknown as {
      body: Node[];
    };
    for (const statement of body) {
      const declared = isNode(statement.declaration) ? statement.declaration : statement;
      const name = nameOf(declared.id);
      if (/^TS(Interface|TypeAlias)Declaration$/.test(declared.type))
        types.set(name, [...(types.get(name) ?? []), declared]);
      else if (/^(Function|Class)Declaration$|^TSDeclareFunction$/.test(declared.type))
        values.set(name, declared);
    }
  }
  return { types, values };
}

/** The names that the entry points export. */
function exported(): string[] {
  const names: string[] = [];
  for (const file of globSync('*/index.ts', { cwd: ROOT })) {
    const { body } = parseAst(readFileSync(`${ROOT}${file}`, 'utf8'), {
      lang: 'ts',
    }) as unknown as {
      body: Node[];
    };
    for (const statement of body)
      for (const specifier of nodes(statement.specifiers))
        if (isNode(specifier.local)) names.push(nameOf(specifier.local));
  }
  return names;
}

/** Every function that a program can pass, sorted. */
export function handedIn(): string[] {
  const { types, values } = declarations();
  const found = new Set<string>();
  const visited = new Set<string>();
  const given = new Set<string>();

  /** Visits a type whose value the program passes. */
  const visit = (type: Node | undefined, name: string): void => {
    if (type === undefined) return;
    switch (type.type) {
      case 'TSFunctionType':
        found.add(name);
        visit(typeOf(type.returnType), `${name}()`);
        return;
      case 'TSUnionType':
      case 'TSIntersectionType':
        for (const each of nodes(type.types)) visit(each, name);
        return;
      case 'TSParenthesizedType':
      case 'TSTypeOperator':
      case 'TSOptionalType':
        visit(type.typeAnnotation as Node, name);
        return;
      case 'TSArrayType':
        visit(type.elementType as Node, name);
        return;
      case 'TSTypeLiteral':
        for (const member of nodes(type.members)) visitMember(member, name);
        return;
      case 'TSTypeReference': {
        for (const argument of nodes((type.typeArguments as Node | undefined)?.params))
          visit(argument, name);
        const referred = nameOf(type.typeName);
        if (!OURS.test(referred)) visitNamed(referred, name);
        return;
      }
    }
  };

  const visitMember = (member: Node, owner: string): void => {
    const name = `${owner}.${nameOf(member.key)}`;
    if (member.type === 'TSMethodSignature') {
      if (member.computed === true) return;
      found.add(name);
      visit(typeOf(member.returnType), `${name}()`);
    } else if (member.type === 'TSPropertySignature') visit(typeOf(member.typeAnnotation), name);
  };

  const visitNamed = (name: string, at: string): void => {
    for (const declared of types.get(name) ?? []) {
      if (declared.type === 'TSTypeAliasDeclaration') {
        // A function type is named by the parameter or member, any other type by its own name.
        const type = declared.typeAnnotation as Node;
        const isFunction = type.type === 'TSFunctionType';
        if (!isFunction && visited.has(name)) continue;
        if (!isFunction) visited.add(name);
        visit(type, isFunction ? at : name);
        continue;
      }
      if (visited.has(name)) continue;
      visited.add(name);
      for (const parent of nodes(declared.extends)) {
        visitNamed(nameOf(parent.expression), at);
        for (const argument of nodes((parent.typeArguments as Node | undefined)?.params))
          visit(argument, at);
      }
      for (const member of nodes((declared.body as Node).body)) visitMember(member, name);
    }
  };

  /** Visits a type whose value the package provides: its methods take functions of the program. */
  const visitGiven = (type: Node | undefined): void => {
    if (type === undefined) return;
    for (const each of [
      ...nodes(type.types),
      ...nodes((type.typeArguments as Node | undefined)?.params),
    ])
      visitGiven(each);
    const name = type.type === 'TSTypeReference' ? nameOf(type.typeName) : '';
    if (name === '' || given.has(name)) return;
    given.add(name);
    for (const declared of types.get(name) ?? []) {
      if (declared.type !== 'TSInterfaceDeclaration') continue;
      for (const parent of nodes(declared.extends))
        visitGiven({ type: 'TSTypeReference', typeName: parent.expression });
      for (const member of nodes((declared.body as Node).body))
        if (member.type === 'TSMethodSignature')
          visitParameters(`${name}.${nameOf(member.key)}`, member.params);
    }
  };

  const visitParameters = (owner: string, params: unknown): void => {
    for (const param of nodes(params)) {
      const plain = param.type === 'AssignmentPattern' ? (param.left as Node) : param;
      const named = plain.type === 'RestElement' ? (plain.argument as Node) : plain;
      visit(
        typeOf(plain.typeAnnotation ?? named.typeAnnotation),
        `${owner}(${nameOf(named) || 'options'})`,
      );
    }
  };

  for (const name of exported()) {
    const value = values.get(name);
    if (value === undefined) continue;
    if (value.type !== 'ClassDeclaration') {
      visitParameters(name, value.params);
      visitGiven(typeOf(value.returnType));
      continue;
    }
    for (const member of nodes((value.body as Node).body)) {
      const method = member.value as { params?: unknown; returnType?: unknown } | undefined;
      const key = nameOf(member.key);
      if (member.type !== 'MethodDefinition' || member.accessibility === 'protected') continue;
      if ((member.key as Node).type === 'PrivateIdentifier') continue;
      visitParameters(key === 'constructor' ? name : `${name}.${key}`, method?.params);
      visitGiven(typeOf(method?.returnType));
    }
  }
  return [...found].sort();
}
