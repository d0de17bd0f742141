/**
 * Go believes whatever certificate it is given as an authority: an intermediate one without its root, and also the very certificate of the
 * other end. OpenSSL wants a chain that ends in a root, unless it is told this. Bundles of webhooks often hold less than a root.
 */
export const trustAsGo = { allowPartialTrustChain: true } as const;
