/** A parser's message without the text that it quotes from a file, which may be a secret. */
export const withoutQuotes = (message: string): string => message.replace(/(["'`]).*["'`]/s, "$1REDACTED$1");
