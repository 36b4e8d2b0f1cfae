// What it takes to verify a collector's documents, without a device.
export { readEnvelope, readKey, verified, type Envelope, type VerifyKey } from "./envelope.ts";
export { ParameterError, RefusedError } from "./errors.ts";
export { following, trustedOn, type Trust } from "./keys.ts";
export { readList, type HeadList } from "./list.ts";
export { readManifest, type Manifest } from "./manifest.ts";
export { readRelease, type Release } from "./release.ts";
export { readIndexDescriptor, type IndexDescriptor } from "./search_descriptor.ts";
export { readTerms, type Terms } from "./terms.ts";
