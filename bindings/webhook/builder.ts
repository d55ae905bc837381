/**
 * The builder of webhooks. It registers typed handlers with the webhook server of a manager.
 * controller-runtime: pkg/builder/webhook.go.
 */
import { CapstanError, invalid, requireFunction, requireString } from '../base/errors.ts';
import { namesOf, requireMembers, requireNames } from '../base/names.ts';
import { notResource, type Resource } from '../base/resource.ts';
import { pathSegment } from '../base/urls.ts';
import {
  type AdmissionHandlers,
  type Defaulter,
  METHODS,
  VALIDATOR_NAMES,
  type Validator,
} from './admission.ts';
import { CONVERSION_NAMES, type Conversion } from './conversion.ts';
import { webhooksOf } from './managed.ts';
import { RecordedWebhooks, type WebhookSink } from './recorded.ts';
import {
  type DefaulterOptions,
  type RegisteredResource,
  registrationOf,
  requireHandlers,
  requireRuleOptions,
  type WebhookRegistration,
  type WebhookRuleOptions,
} from './registration.ts';

/** Options of {@link WebhookManagedBy.for}. */
export interface WebhookForOptions {
  /** The subresource, such as `scale`. Its objects have another type than the resource. */
  readonly subResource?: string | undefined;
}

const FOR_NAMES = namesOf<WebhookForOptions>()({ subResource: 1 });

/** What `newWebhookManagedBy` returns. */
export interface WebhookManagedBy {
  /**
   * Sets the resource of the webhooks. For a subresource pass the type of its objects, such as
   * `for<Scale>(Website.resource, { subResource: 'scale' })`.
   *
   * @throws CapstanError INVALID_ARGUMENT
   */
  for<T extends object>(resource: Resource<T, string>): WebhookBuilder<T>;
  for<T extends object>(
    resource: Resource<never, string>,
    options: WebhookForOptions,
  ): WebhookBuilder<T>;
}

/**
 * Starts a builder of webhooks that the manager serves. The manager needs the option `webhook`.
 * controller-runtime: builder.WebhookManagedBy.
 *
 * @throws CapstanError INVALID_ARGUMENT for a manager without the option `webhook`
 * @example
 * const manager = newManager({ transport, webhook: { certDir: '/certs' } });
 * newWebhookManagedBy(manager)
 *   .for(Website)
 *   .withDefaulter((site) => {
 *     site.spec.replicas ??= 1;
 *   })
 *   .withValidator({
 *     validateUpdate(old, now) {
 *       if (old.spec.image !== now.spec.image) throw new AdmissionDenied('image is immutable');
 *     },
 *   })
 *   .complete();
 */
export function newWebhookManagedBy(manager: object): WebhookManagedBy {
  const sink = sinkOf(manager);
  return {
    for: <T extends object>(
      resource: Resource<T, string> | Resource<never, string>,
      options: WebhookForOptions = {},
    ) => {
      requireNames('options', options, 'option of for()', FOR_NAMES);
      const { group, version, kind, plural, namespaced } = (resource ?? {}) as RegisteredResource;
      if (![group, version, kind, plural].every((part) => typeof part === 'string'))
        throw notResource('resource', resource);
      const { subResource = '' } = options;
      requireString('options.subResource', subResource);
      if (subResource !== '' && pathSegment('options.subResource', subResource) !== subResource)
        throw invalid('options.subResource', 'a name such as "scale"', subResource);
      return new WebhookBuilder<T>(sink, { group, version, kind, plural, namespaced }, subResource);
    },
  };
}

/** The webhooks of one resource. `complete` registers them. */
export class WebhookBuilder<T> {
  readonly #sink: WebhookSink;
  readonly #resource: RegisteredResource;
  readonly #subResource: string;
  readonly #registrations = new Map<WebhookRegistration['type'], WebhookRegistration>();
  readonly #spokes: Conversion<object, object>[] = [];
  #isComplete = false;

  /** @internal */
  constructor(sink: WebhookSink, resource: RegisteredResource, subResource: string) {
    this.#sink = sink;
    this.#resource = resource;
    this.#subResource = subResource;
  }

  /**
   * Sets the defaulter: a function that changes an object before it is stored, or returns another
   * one. It needs the package `rfc6902`.
   *
   * @throws CapstanError INVALID_ARGUMENT
   */
  withDefaulter(change: Defaulter<T>, options: DefaulterOptions = {}): this {
    requireFunction('change', change);
    requireRuleOptions(options, 'mutating');
    const { operations = ['CREATE', 'UPDATE'] } = options;
    const admission = this.#admission({ defaulter: change as unknown as Defaulter<object> });
    this.#set(registrationOf('mutating', this.#resource, admission, operations, options));
    return this;
  }

  /**
   * Sets the validator. The API server calls it for the operations that have a method.
   *
   * @throws CapstanError INVALID_ARGUMENT
   */
  withValidator(validator: Validator<T>, options: WebhookRuleOptions = {}): this {
    requireMembers('validator', validator, 'method of a Validator', VALIDATOR_NAMES);
    requireRuleOptions(options, 'validating');
    const methods = requireHandlers(validator, Object.keys(METHODS));
    const operations = methods.map((method) => METHODS[method as keyof typeof METHODS]);
    const admission = this.#admission({ validator: validator as unknown as Validator<object> });
    this.#set(registrationOf('validating', this.#resource, admission, operations, options));
    return this;
  }

  /**
   * Adds a spoke: a version that is converted to and from the hub, which is the version of `for()`.
   * Call it for each other version of the kind. All conversions are served at `/convert`.
   *
   * @throws CapstanError INVALID_ARGUMENT
   * @example
   * interface Old {
   *   metadata: { name: string };
   *   spec: { picture: string };
   * }
   * newWebhookManagedBy(manager)
   *   .for(Website)
   *   .withConversion<Old>({
   *     version: 'v1beta1',
   *     toHub: ({ metadata, spec: { picture } }) => ({
   *       metadata,
   *       spec: { image: picture, replicas: 1 },
   *     }),
   *     fromHub: ({ spec: { image }, metadata: { name = '' } }) => ({
   *       metadata: { name },
   *       spec: { picture: image },
   *     }),
   *   })
   *   .complete();
   */
  withConversion<Spoke = object>(conversion: Conversion<Spoke, T>): this {
    requireMembers('conversion', conversion, 'member of a Conversion', CONVERSION_NAMES);
    const { version, toHub, fromHub } = conversion;
    requireString('conversion.version', version);
    requireFunction('conversion.toHub', toHub);
    requireFunction('conversion.fromHub', fromHub);
    if (this.#subResource !== '')
      throw new CapstanError(
        'INVALID_ARGUMENT',
        'a subresource has no conversion: register it for the resource itself',
      );
    const { version: hub, kind } = this.#resource;
    const known = [hub, ...this.#spokes.map((spoke) => spoke.version)];
    if (known.includes(version))
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `conversion.version expected another version of ${kind} than ${known.join(', ')}, ` +
          `got ${version}`,
      );
    this.#spokes.push(conversion as unknown as Conversion<object, object>);
    return this;
  }

  /**
   * Registers the webhooks and the conversions.
   *
   * @throws CapstanError INVALID_ARGUMENT if there is none, or for a path that is taken
   */
  complete(): void {
    const { kind } = this.#resource;
    if (this.#isComplete)
      throw new CapstanError('INVALID_ARGUMENT', `the webhooks of ${kind} are registered already`);
    if (this.#registrations.size === 0 && this.#spokes.length === 0)
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `no webhook of ${kind}: call withDefaulter() or withValidator(), or withConversion(), ` +
          'before complete()',
      );
    for (const registration of this.#registrations.values()) this.#sink.add(registration);
    if (this.#spokes.length > 0)
      this.#sink.addConversion({ resource: this.#resource, spokes: this.#spokes });
    this.#isComplete = true;
  }

  #admission(handlers: Pick<AdmissionHandlers, 'defaulter' | 'validator'>): AdmissionHandlers {
    return { resource: this.#resource, subResource: this.#subResource, ...handlers };
  }

  #set(registration: WebhookRegistration): void {
    const { type, resource } = registration;
    if (this.#registrations.has(type))
      throw new CapstanError(
        'INVALID_ARGUMENT',
        `${resource.kind} has a ${type} webhook already: one builder takes one of each`,
      );
    this.#registrations.set(type, registration);
  }
}

const sinkOf = (manager: object): WebhookSink =>
  manager instanceof RecordedWebhooks ? manager : webhooksOf(manager);
