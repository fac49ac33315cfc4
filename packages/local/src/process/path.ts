/** Not every user's PATH has the folders where Debian puts the programs that only root needs. */
export function widePath(path = process.env['PATH'] ?? ''): string {
  return [...new Set([...path.split(':'), '/usr/local/sbin', '/usr/sbin', '/sbin', '/usr/bin', '/bin'])].join(':');
}
