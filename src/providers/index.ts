/** Ready-made sources, one file for each provider, and what it takes to declare one. */

export * from './vendors/index.ts'
export { hmac } from './hmac.ts'
export type { HmacOptions, HmacTimestampOptions } from './hmac.ts'
export type { IdentityOptions } from './own-identity.ts'
export { unsigned } from './unsigned.ts'
export type { UnsignedOptions } from './unsigned.ts'
export { withSchemas } from './with-schemas.ts'
export type { EventSchemas, EventsOfSchemas } from './with-schemas.ts'

export { defineProvider } from './define-provider.ts'
export type { OptionRule, Provider, ProviderDefinition } from './define-provider.ts'
export { emptyAnswer, jsonAnswer, textAnswer } from './handshake.ts'
export type { HandshakeContext, HandshakeRule } from './handshake.ts'
export type { BatchPart, IdentitySpec } from './identification.ts'
export { customVerification } from './schemes/custom-verification.ts'
export type { CustomSpec } from './schemes/custom-verification.ts'
export { firstPresent } from './schemes/first-present.ts'
export { hashSignature, hmacSignature } from './schemes/hmac-signature.ts'
export type { HashSpec, HmacSpec } from './schemes/hmac-signature.ts'
export { jwtSignature } from './schemes/jwt-signature.ts'
export type { JwkOptions, JwtSpec } from './schemes/jwt-signature.ts'
export type { JwksOptions } from './schemes/jwk-judge.ts'
export { ecdsaSignature, ed25519Signature } from './schemes/public-key-signature.ts'
export type { PublicKeyOptions, PublicKeySpec } from './schemes/public-key-signature.ts'
export type { PublicUrlOptions } from './schemes/public-url.ts'
export { rsaSignature } from './schemes/rsa-signature.ts'
export type { CertificateOptions, RsaSpec } from './schemes/rsa-signature.ts'
export { basicAuth, sharedToken } from './schemes/shared-token.ts'
export type { BasicAuthOptions, TokenOptions, TokenSpec } from './schemes/shared-token.ts'
export type {
  SignatureList,
  SignatureSpec,
  SignedBy,
  TimestampSpec,
} from './schemes/signature-spec.ts'
export { withCheck } from './schemes/with-check.ts'
export type { Check } from './schemes/with-check.ts'
export { standardSignature } from './schemes/standard-signature.ts'
export type { StandardOptions, StandardSpec } from './schemes/standard-signature.ts'
export type {
  BuildContext,
  BuiltVerification,
  Choice,
  Verification,
} from './schemes/verification.ts'

export type { SecretOptions } from './define-source.ts'
export type { HmacAlgorithm } from '../verify/hmac.ts'
export type { SignatureEncoding } from '../verify/decode.ts'
export type { TextFetcher } from '../verify/fetch-text.ts'
export type { Reading } from '../body/json-path.ts'
export type { JwksPlace } from '../verify/jwks.ts'
export type { JwtAlgorithm } from '../verify/jwt.ts'
export type { Place } from '../body/place.ts'
export type { LabelledSecret, Secret, SecretDecoder, SecretEncoding } from '../verify/secrets.ts'
export type { TimestampFormat } from '../verify/timestamp.ts'
