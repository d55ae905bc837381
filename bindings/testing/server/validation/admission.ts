/**
 * The rules of admissionregistration.k8s.io. Expressions are compiled if the optional CEL package
 * is installed, those of mutations as far as their types are known. kubernetes:
 * pkg/apis/admissionregistration/validation/validation.go.
 */
import { isObject, type Json } from '../json.ts';
import { label1035, pathSegmentErrors, qualifiedName, subdomain } from '../registry/names.ts';
import { Compiler } from '../rules/expressions.ts';
import { labelSelector, portNumber } from './formats.ts';
import type { Place, RuleTable } from './place.ts';
import { conditions, domain, wasValid } from './shared.ts';

const GROUP = 'admissionregistration.k8s.io';

const OPERATIONS = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];
const FAILURE_POLICIES = ['Fail', 'Ignore'];
const MATCH_POLICIES = ['Equivalent', 'Exact'];
const REINVOCATIONS = ['IfNeeded', 'Never'];
const NO_SIDE_EFFECTS = ['None', 'NoneOnDryRun'];
const SIDE_EFFECTS = [...NO_SIDE_EFFECTS, 'Some', 'Unknown'];
const REVIEW_VERSIONS = ['v1', 'v1beta1'];

const hasStar = (at: Place): boolean => at.items.some(({ text }) => text === '*');

/** A list with `*` must have no other items. */
function aloneIfStar(at: Place): void {
  if (at.items.length > 1 && hasStar(at)) at.invalid("if '*' is present, must not specify others");
}

function ruleWithOperations(rule: Place): void {
  const operations = rule.at('operations');
  operations.need();
  aloneIfStar(operations);
  for (const item of operations.items) item.among(OPERATIONS);
  const [groups, versions] = [rule.at('apiGroups'), rule.at('apiVersions')];
  groups.need();
  aloneIfStar(groups);
  versions.need();
  aloneIfStar(versions);
  for (const item of versions.items) item.need();
  resources(rule.at('resources'));
  if (rule.at('scope').isSet) rule.at('scope').among(['*', 'Cluster', 'Namespaced']);
}

function resources(list: Place): void {
  list.need();
  const allSubresources = new Set<string>();
  const allResources = new Set<string>();
  // As in Go, the last resource without a subresource decides.
  let isPlain = false;
  for (const item of list.items) {
    if (!item.need()) continue;
    const slash = item.text.indexOf('/');
    if (slash < 0) {
      isPlain = item.text !== '*';
      continue;
    }
    const [resource, subresource] = [item.text.slice(0, slash), item.text.slice(slash + 1)];
    if (allSubresources.has(resource)) item.invalid(`'${resource}/*' is present`);
    if (allResources.has(subresource)) item.invalid(`'*/${subresource}' is present`);
    if (subresource === '*') allSubresources.add(resource);
    if (resource === '*') allResources.add(subresource);
  }
  if (list.items.length > 1 && list.items.some(({ text }) => text === '*/*'))
    list.invalid("if '*/*' is present, must not specify other resources");
  if (hasStar(list) && isPlain)
    list.invalid("if '*' is present, must not specify other resources without subresources");
}

// Webhooks

function clientConfig(at: Place): void {
  const [url, service] = [at.at('url'), at.at('service')];
  if (url.isSet === service.isSet) at.required('exactly one of url or service is required');
  else if (url.isSet) webhookUrl(url);
  else {
    // The real server passes the two in the wrong order.
    const [name, namespace] = [service.at('name'), service.at('namespace')];
    if (namespace.isEmpty) name.required();
    if (name.isEmpty) namespace.required();
    const port = service.at('port');
    if (portNumber(port.number).length > 0) port.invalid('port is not valid');
    webhookPath(service.at('path'));
  }
}

const URL_PARTS = new RegExp(
  '^(?:(?<scheme>[a-zA-Z][a-zA-Z0-9+.-]*):)?(?://(?<authority>[^/?#]*))?[^?#]*' +
    '(?:\\?(?<query>[^#]*))?(?:#(?<fragment>.*))?$',
  's',
);

function webhookUrl(at: Place): void {
  const parts = URL_PARTS.exec(at.text)?.groups ?? {};
  const { scheme = '', authority = '', query = '', fragment = '' } = parts;
  const isUrl = !/\p{Cc}|^:|%(?![0-9a-fA-F]{2})/u.test(at.text) && !/ /.test(authority);
  if (!isUrl) {
    at.required('url must be a valid URL; desired format: https://host[/path]');
    return;
  }
  const user = authority.includes('@');
  if (scheme.toLowerCase() !== 'https') at.invalid("'https' is the only allowed URL scheme");
  if (authority.slice(authority.lastIndexOf('@') + 1) === '') at.invalid('host must be specified');
  if (user) at.invalid('user information is not permitted in the URL');
  if (fragment !== '') at.invalid('fragments are not permitted in the URL');
  if (query !== '') at.invalid('query parameters are not permitted in the URL');
}

function webhookPath(at: Place): void {
  const path = at.text;
  if (path === '' || path === '/') return;
  if (path === '//') {
    at.invalid('segment[0] may not be empty');
    return;
  }
  if (!path.startsWith('/')) at.invalid("must start with a '/'");
  for (const segment of path.slice(1).replace(/\/$/, '').split('/')) {
    if (segment === '') at.invalid('a segment may not be empty');
    else at.matches(subdomain, segment);
  }
}

function reviewVersions(list: Place, mustKnow: boolean): void {
  if (!list.need(`must specify one of ${REVIEW_VERSIONS.join(', ')}`)) return;
  const seen = new Set<string>();
  for (const item of list.items) {
    if (seen.has(item.text)) item.invalid('duplicate version');
    else item.matches(label1035);
    seen.add(item.text);
  }
  if (mustKnow && !REVIEW_VERSIONS.some((version) => seen.has(version)))
    list.invalid(`must include at least one of ${REVIEW_VERSIONS.join(', ')}`);
}

function webhooks(object: Place): void {
  const list = object.at('webhooks');
  const before: readonly Json[] = Array.isArray(list.was) ? list.was : [];
  const old = before.filter(isObject);
  // An error that the old object had too is no error (ratcheting).
  const noSideEffects = old.every(({ sideEffects }) =>
    NO_SIDE_EFFECTS.includes(String(sideEffects)),
  );
  const knowsVersions = old.every(
    ({ admissionReviewVersions: versions }) =>
      !Array.isArray(versions) || versions.some((each) => REVIEW_VERSIONS.includes(String(each))),
  );
  const oldNames = old.map(({ name }) => name);
  const isUnique = new Set(oldNames).size === oldNames.length;
  const anyValue = !wasValid(list, (hooks) => {
    for (const hook of hooks.items) selectors(hook, false);
  });
  const names = new Set<string>();
  for (const hook of list.items) {
    webhook(hook, noSideEffects ? NO_SIDE_EFFECTS : SIDE_EFFECTS, anyValue);
    reviewVersions(hook.at('admissionReviewVersions'), knowsVersions);
    const name = hook.at('name');
    if (isUnique && names.has(name.text) && !name.isEmpty) name.duplicate();
    names.add(name.text);
  }
}

function selectors(hook: Place, anyValue: boolean): void {
  for (const name of ['namespaceSelector', 'objectSelector'])
    labelSelector(hook.at(name), anyValue);
}

function webhook(hook: Place, sideEffects: readonly string[], anyValue: boolean): void {
  domain(hook.at('name'), 3);
  for (const rule of hook.at('rules').items) ruleWithOperations(rule);
  if (hook.at('failurePolicy').isSet) hook.at('failurePolicy').among(FAILURE_POLICIES);
  if (hook.at('matchPolicy').isSet) hook.at('matchPolicy').among(MATCH_POLICIES);
  const effects = hook.at('sideEffects');
  if (!effects.isSet) effects.required(`must specify one of ${sideEffects.join(', ')}`);
  else effects.among(sideEffects);
  const timeout = hook.at('timeoutSeconds');
  if (timeout.isSet && (timeout.number > 30 || timeout.number < 1))
    timeout.invalid('the timeout value must be between 1 and 30 seconds');
  selectors(hook, anyValue);
  if (hook.at('reinvocationPolicy').isSet) hook.at('reinvocationPolicy').among(REINVOCATIONS);
  clientConfig(hook.at('clientConfig'));
  matchConditions(hook.at('matchConditions'));
}

const MOST_CONDITIONS = 64;

function matchConditions(list: Place, hasParams = false): void {
  if (list.items.length > MOST_CONDITIONS) list.tooMany(list.items.length, MOST_CONDITIONS);
  if (list.items.length === 0) return;
  const compiler = Compiler.ofAdmission(hasParams);
  const names = new Set<string>();
  for (const item of list.items) {
    const name = item.at('name');
    compiles(item.at('expression'), compiler, ['bool']);
    if (name.need()) name.matches(qualifiedName);
    if (names.has(name.text) && !name.isEmpty) name.duplicate();
    names.add(name.text);
  }
}

/** Requires a text that is not only spaces; returns whether it is one. */
function needText(at: Place): boolean {
  const isText = at.text.trim() !== '';
  if (!isText) at.required('is not specified');
  return isText;
}

/** Requires an expression of one of these types. */
function compiles(at: Place, compiler: Compiler, types: readonly string[]): void {
  if (!needText(at)) return;
  const why = compiler.error(at.text.trim(), types);
  if (why !== undefined) at.invalid(why);
}

// Policies

function policy(object: Place): void {
  const spec = object.at('spec');
  const failure = spec.at('failurePolicy');
  if (!failure.isSet) failure.required();
  else failure.among(FAILURE_POLICIES);
  if (spec.at('paramKind').isSet) paramKind(spec.at('paramKind'));
  const constraints = spec.at('matchConstraints');
  if (!constraints.isSet) constraints.required();
  else {
    matchResources(constraints);
    constraints.at('resourceRules').need();
  }
}

/** A compiler with the variables that come before the expression. */
function compilerOf(spec: Place): Compiler {
  const hasParams = spec.at('paramKind').isSet;
  matchConditions(spec.at('matchConditions'), hasParams);
  const compiler = Compiler.ofAdmission(hasParams);
  variables(spec.at('variables'), compiler);
  return compiler;
}

function validatingPolicy(object: Place): void {
  policy(object);
  const spec = object.at('spec');
  const compiler = compilerOf(spec);
  const [validations, annotations] = [spec.at('validations'), spec.at('auditAnnotations')];
  if (validations.isEmpty && annotations.isEmpty) {
    const why = 'validations or auditAnnotations must contain at least one item';
    validations.required(why);
    annotations.required(why);
    return;
  }
  for (const item of validations.items) validation(item, compiler);
  if (annotations.items.length > 20) annotations.invalid('must not have more than 20');
  const policyName = object.in('metadata.name').text;
  const keys = new Set<string>();
  for (const item of annotations.items) {
    const key = item.at('key');
    if (policyName === '') key.invalid('requires metadata.name be non-empty');
    else for (const why of qualifiedName(`${policyName}/${key.text}`)) key.invalid(why);
    const expression = item.at('valueExpression');
    if (expression.text.trim().length > 5 * 1024)
      expression.required('must not exceed 5120 bytes in length');
    else compiles(expression, compiler, ['string', 'null']);
    if (keys.has(key.text)) key.duplicate();
    keys.add(key.text);
  }
}

function validation(at: Place, compiler: Compiler): void {
  compiles(at.at('expression'), compiler, ['bool']);
  const [text, message] = [at.at('messageExpression'), at.at('message')];
  if (text.text.trim() !== '') compiles(text, compiler, ['string']);
  else if (!text.isEmpty) text.invalid('must be non-empty if specified');
  if (!message.isEmpty && message.text.trim() === '')
    message.invalid('must be non-empty if specified');
  else if (/[\n\r]/.test(message.text.trim())) message.invalid('must not contain line breaks');
  const reason = at.at('reason');
  if (reason.isSet) reason.among(['Forbidden', 'Invalid', 'RequestEntityTooLarge']);
}

const RESERVED: readonly string[] = [
  ...['true', 'false', 'null', 'in', 'as', 'break', 'const', 'continue', 'else', 'for', 'function'],
  ...['if', 'import', 'let', 'loop', 'package', 'namespace', 'return', 'var', 'void', 'while'],
];

function variables(list: Place, compiler: Compiler): void {
  for (const item of list.items) {
    const name = item.at('name');
    if (
      needText(name) &&
      (!/^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name.text) || RESERVED.includes(name.text))
    )
      name.invalid('must be a valid CEL identifier');
    const expression = item.at('expression');
    const why = needText(expression) ? compiler.define(name.text, expression.text) : undefined;
    if (why !== undefined) expression.invalid(why);
  }
}

function paramKind(at: Place): void {
  const [apiVersion, kind] = [at.at('apiVersion'), at.at('kind')];
  if (apiVersion.need()) {
    const parts = apiVersion.text === '/' ? ['', ''] : apiVersion.text.split('/');
    const [group = '', version = ''] = parts.length === 1 ? ['', parts[0]] : parts;
    if (parts.length > 2) apiVersion.invalid('unexpected GroupVersion string');
    else {
      if (group !== '' && subdomain(group).length > 0) apiVersion.invalid('the group is no name');
      if (version === '') apiVersion.invalid('version must be specified');
      else if (label1035(version).length > 0) apiVersion.invalid('the version is no name');
    }
  }
  if (kind.need() && label1035(kind.text.toLowerCase()).length > 0)
    kind.invalid('may have mixed case, but should otherwise be a DNS-1035 label');
}

function matchResources(at: Place): void {
  const match = at.at('matchPolicy');
  if (!match.isSet) match.required();
  else match.among(MATCH_POLICIES);
  for (const name of ['namespaceSelector', 'objectSelector']) {
    if (at.at(name).isSet) labelSelector(at.at(name));
    else at.at(name).required();
  }
  for (const name of ['resourceRules', 'excludeResourceRules']) {
    for (const rule of at.at(name).items) {
      const seen = new Set<string>();
      for (const item of rule.at('resourceNames').items) {
        item.matches(pathSegmentErrors);
        if (seen.has(item.text)) item.duplicate();
        seen.add(item.text);
      }
      ruleWithOperations(rule);
    }
  }
}

/** Rejects the operation DELETE, which cannot be mutated. */
function noDeletes(rules: Place): void {
  for (const rule of rules.items) {
    for (const item of rule.at('operations').items)
      item.as(`${rules.path}.operations`).among(OPERATIONS.filter((each) => each !== 'DELETE'));
  }
}

function mutatingPolicy(object: Place): void {
  policy(object);
  const spec = object.at('spec');
  noDeletes(spec.at('matchConstraints').at('resourceRules'));
  const compiler = compilerOf(spec);
  spec.at('mutations').need('mutations must contain at least one item');
  for (const item of spec.at('mutations').items) mutation(item, compiler);
  spec.at('reinvocationPolicy').needAmong(REINVOCATIONS);
}

const PATCHES: Readonly<Record<string, string>> = {
  ApplyConfiguration: 'applyConfiguration',
  JSONPatch: 'jsonPatch',
};

function mutation(at: Place, compiler: Compiler): void {
  const type = at.at('patchType');
  if (!type.needAmong(Object.keys(PATCHES))) return;
  for (const [name, member] of Object.entries(PATCHES)) {
    const patch = at.at(member);
    if (name !== type.text) {
      if (patch.isSet) patch.invalid(`must not be specified when patchType is ${type.text}`);
    } else if (!patch.isSet) patch.required(`must be specified when patchType is ${type.text}`);
    else mutates(patch.at('expression'), compiler);
  }
}

/**
 * The compiler does not know the type of a mutation, so this checks only that the variables exist
 * and that the expression names a type of patch.
 */
function mutates(at: Place, compiler: Compiler): void {
  if (!needText(at)) return;
  const used = [...at.text.matchAll(/\bvariables\.([A-Za-z_]\w*)/g)].map(([, name = '']) => name);
  const missing = used.find((name) => !compiler.isDeclared(name));
  if (missing !== undefined) at.invalid(`compilation failed: undefined field '${missing}'`);
  else if (!/\b(?:Object|JSONPatch)\b/.test(at.text)) at.invalid('must evaluate to a patch');
}

function policyBinding(object: Place): void {
  const spec = object.at('spec');
  if (spec.at('policyName').need()) spec.at('policyName').matches(subdomain);
  const ref = spec.at('paramRef');
  if (ref.isSet) paramRef(ref);
  if (spec.at('matchResources').isSet) matchResources(spec.at('matchResources'));
}

function paramRef(at: Place): void {
  const [name, selector] = [at.at('name'), at.at('selector')];
  const both = !name.isEmpty && selector.isSet;
  name.matches(pathSegmentErrors);
  if (both) name.forbidden('name and selector are mutually exclusive');
  labelSelector(selector);
  if (both) selector.forbidden('name and selector are mutually exclusive');
  if (name.isEmpty && !selector.isSet) at.required('one of name or selector must be specified');
  at.at('parameterNotFoundAction').needAmong(['Deny', 'Allow']);
}

function validatingBinding(object: Place): void {
  policyBinding(object);
  const actions = object.in('spec.validationActions');
  const seen = new Set<string>();
  for (const item of actions.items) {
    item.among(['Audit', 'Deny', 'Warn']);
    if (seen.has(item.text)) item.duplicate();
    seen.add(item.text);
  }
  if (seen.has('Deny') && seen.has('Warn')) actions.invalid('must not contain both Deny and Warn');
  actions.need('at least one validation action is required');
}

function mutatingBinding(object: Place): void {
  policyBinding(object);
  noDeletes(object.in('spec.matchResources.resourceRules'));
}

function policyStatus(object: Place): void {
  const status = object.at('status');
  for (const item of status.in('typeChecking.expressionWarnings').items) {
    item.at('warning').need();
    needText(item.at('fieldRef'));
  }
  conditions(status.at('conditions'));
}

export const admission: RuleTable = {
  [`${GROUP}/mutatingwebhookconfigurations`]: { object: webhooks },
  [`${GROUP}/validatingwebhookconfigurations`]: { object: webhooks },
  [`${GROUP}/validatingadmissionpolicies`]: { object: validatingPolicy, status: policyStatus },
  [`${GROUP}/validatingadmissionpolicybindings`]: { object: validatingBinding },
  [`${GROUP}/mutatingadmissionpolicies`]: { object: mutatingPolicy },
  [`${GROUP}/mutatingadmissionpolicybindings`]: { object: mutatingBinding },
};
