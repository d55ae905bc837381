/**
 * `capstan/webhook`: typed admission webhooks and conversions that a manager serves.
 * controller-runtime: `webhook` and `builder.WebhookManagedBy`. It needs `capstan/manager`.
 */

export {
  AdmissionDenied,
  type AdmissionRequest,
  type Defaulter,
  type DenialOptions,
  type Validator,
} from './admission.ts';
export {
  newWebhookManagedBy,
  type WebhookBuilder,
  type WebhookForOptions,
  type WebhookManagedBy,
} from './builder.ts';
export {
  type WebhookConfiguration,
  type WebhookConfigurationsOptions,
  webhookConfigurations,
} from './configurations.ts';
export type { Conversion } from './conversion.ts';
export { conversionDefinitions } from './conversion-definitions.ts';
export type {
  DefaulterOptions,
  WebhookRuleOptions,
  WebhookSelector,
} from './registration.ts';
export type { AdmissionOperation, DenialCause, UserInfo } from './review.ts';
export { type SchemaOf, type SchemaValidatorOptions, schemaValidator } from './schema-validator.ts';
