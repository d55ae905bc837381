/**
 * A registered webhook: its resource, its handler, its path, and the fields of its configuration.
 * controller-runtime: pkg/builder/webhook.go.
 */
import { invalid, requireFunction, requireInteger, requireString } from '../base/errors.ts';
import { namesOf, requireNames } from '../base/names.ts';
import type { AdmissionHandlers } from './admission.ts';
import type { AdmissionOperation } from './review.ts';

/** A selector of labels. metav1.LabelSelector. */
export interface WebhookSelector {
  readonly matchLabels?: Readonly<Record<string, string>> | undefined;
  readonly matchExpressions?:
    | readonly {
        readonly key: string;
        readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
        readonly values?: readonly string[] | undefined;
      }[]
    | undefined;
}

/** Fields of a webhook configuration. admissionregistration.k8s.io/v1 ValidatingWebhook. */
export interface WebhookRuleOptions {
  /** The name in the configuration. Default: such as `validate.website.v1.example.com`. */
  readonly name?: string | undefined;
  /** The path. Default: as in controller-runtime, such as `/validate-example-com-v1-website`. */
  readonly path?: string | undefined;
  /** Whether a request fails if the webhook does not answer. Default `Fail`. */
  readonly failurePolicy?: 'Fail' | 'Ignore' | undefined;
  /** `NoneOnDryRun` for a handler with side effects, except on `request.dryRun`. Default `None`. */
  readonly sideEffects?: 'None' | 'NoneOnDryRun' | undefined;
  /** After this time the API server stops waiting. From 1 to 30 seconds. Default 10. */
  readonly timeoutSeconds?: number | undefined;
  /**
   * `Equivalent`: the webhook also gets requests for other versions of the resource, converted to
   * this one. Default `Equivalent`.
   */
  readonly matchPolicy?: 'Exact' | 'Equivalent' | undefined;
  /** CEL expressions. The webhook is called if all are true. */
  readonly matchConditions?:
    | readonly { readonly name: string; readonly expression: string }[]
    | undefined;
  /** Selects by the labels of the namespace of the object. */
  readonly namespaceSelector?: WebhookSelector | undefined;
  /** Selects by the labels of the object. */
  readonly objectSelector?: WebhookSelector | undefined;
}

/** Fields of the configuration of a defaulter. admissionregistration.k8s.io/v1 MutatingWebhook. */
export interface DefaulterOptions extends WebhookRuleOptions {
  /** Default `CREATE` and `UPDATE`. */
  readonly operations?: readonly ('CREATE' | 'UPDATE' | 'CONNECT')[] | undefined;
  /** `IfNeeded`: call it again if a later webhook changed the object. Default `Never`. */
  readonly reinvocationPolicy?: 'Never' | 'IfNeeded' | undefined;
}

const SELECTOR_NAMES = namesOf<WebhookSelector>()({ matchLabels: 1, matchExpressions: 1 });
const RULE = {
  name: 1,
  path: 1,
  failurePolicy: 1,
  sideEffects: 1,
  timeoutSeconds: 1,
  matchPolicy: 1,
  matchConditions: namesOf<{ name: string; expression: string }>()({ name: 1, expression: 1 }),
  namespaceSelector: SELECTOR_NAMES,
  objectSelector: SELECTOR_NAMES,
} as const;
const RULE_NAMES = namesOf<WebhookRuleOptions>()(RULE);
const DEFAULTER_NAMES = namesOf<DefaulterOptions>()({
  ...RULE,
  operations: 1,
  reinvocationPolicy: 1,
});

/** The resource of a registration. */
export interface RegisteredResource {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/** A registered webhook, as `webhookConfigurations` reads it. */
export interface WebhookRegistration {
  readonly type: 'mutating' | 'validating';
  readonly name: string;
  readonly path: string;
  readonly resource: RegisteredResource;
  /** Empty for the resource itself. */
  readonly subResource: string;
  readonly operations: readonly AdmissionOperation[];
  readonly timeoutSeconds: number;
  readonly options: DefaulterOptions;
  /** @internal */
  readonly admission: AdmissionHandlers;
}

/** In seconds. apiserver: the default of admissionregistration.k8s.io/v1. */
const TIMEOUT_SECONDS = 10;

/** Throws CapstanError INVALID_ARGUMENT. */
export function registrationOf(
  type: WebhookRegistration['type'],
  resource: RegisteredResource,
  admission: AdmissionHandlers,
  operations: readonly AdmissionOperation[],
  options: DefaulterOptions,
): WebhookRegistration {
  const { subResource } = admission;
  const verb = type === 'mutating' ? 'mutate' : 'validate';
  const {
    name = nameOf(verb, resource, subResource),
    path = pathOf(verb, resource, subResource),
    timeoutSeconds = TIMEOUT_SECONDS,
  } = options;
  requireString('options.name', name);
  if (name.split('.').length < 3)
    throw invalid('options.name', 'a name of three parts, such as "check.example.com"', name);
  if (!/^(\/[\w-]+)+$/.test(path))
    throw invalid('options.path', 'a path such as "/validate-example-com-v1-website"', path);
  requireInteger('options.timeoutSeconds', timeoutSeconds, 1);
  if (timeoutSeconds > 30)
    throw invalid('options.timeoutSeconds', 'at most 30 seconds', timeoutSeconds);
  return {
    type,
    name,
    path,
    resource,
    subResource,
    operations,
    timeoutSeconds,
    options,
    admission,
  };
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireRuleOptions(
  options: DefaulterOptions,
  type: 'mutating' | 'validating',
): void {
  const isMutating = type === 'mutating';
  requireNames(
    'options',
    options,
    `option of ${isMutating ? 'withDefaulter' : 'withValidator'}()`,
    isMutating ? DEFAULTER_NAMES : RULE_NAMES,
  );
  const choices: Readonly<Record<string, readonly string[]>> = {
    failurePolicy: ['Fail', 'Ignore'],
    sideEffects: ['None', 'NoneOnDryRun'],
    matchPolicy: ['Exact', 'Equivalent'],
    reinvocationPolicy: ['Never', 'IfNeeded'],
  };
  for (const [option, known] of Object.entries(choices)) {
    const value: unknown = options[option as keyof DefaulterOptions];
    if (value !== undefined && !known.includes(value as string))
      throw invalid(`options.${option}`, known.map((one) => `"${one}"`).join(' or '), value);
  }
  const { operations } = options;
  if (operations === undefined) return;
  const allowed: readonly unknown[] = ['CREATE', 'UPDATE', 'CONNECT'];
  if (!Array.isArray(operations) || operations.length === 0)
    throw invalid('options.operations', 'a list of operations', operations);
  for (const operation of operations)
    if (!allowed.includes(operation))
      throw invalid('options.operations', 'CREATE, UPDATE or CONNECT', operation);
}

/** `/mutate-` or `/validate-`, group, version and kind, as controller-runtime does. */
function pathOf(
  verb: string,
  { group, version, kind }: RegisteredResource,
  subResource: string,
): string {
  const path = `/${verb}-${group.replaceAll('.', '-')}-${version}-${kind.toLowerCase()}`;
  return subResource === '' ? path : `${path}-${subResource}`;
}

function nameOf(
  verb: string,
  { group, version, kind }: RegisteredResource,
  subResource: string,
): string {
  const first = subResource === '' ? verb : `${verb}-${subResource}`;
  return [first, kind.toLowerCase(), version, group].filter((part) => part !== '').join('.');
}

/** Throws CapstanError INVALID_ARGUMENT. */
export function requireHandlers(handlers: object, names: readonly string[]): string[] {
  const given = names.filter((name) => (handlers as Record<string, unknown>)[name] !== undefined);
  for (const name of given)
    requireFunction(`validator.${name}`, (handlers as Record<string, unknown>)[name]);
  if (given.length === 0)
    throw invalid('validator', `an object with ${names.join(', ')} or some of these`, handlers);
  return given;
}
