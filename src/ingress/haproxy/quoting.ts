// All that comes from people stands in single quotes in the configuration, within which nothing has a meaning.

/** Strong quotation. A line break cannot be quoted: texts with one do not get here. */
export const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Where the proxy would look for expressions, which begin with a percent sign. */
export const quotedFormat = (text: string): string => quoted(text.replaceAll("%", "%%"));

/** A text in a regular expression. */
export const escapedPattern = (text: string): string => text.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
