/** The PHP files that make a WordPress out of the package's program. Texts become PHP literals by `literal`. */

/** Router script of the web server: logs each request in `access.log`, then answers it. */
export const router = `<?php
// Like a web server's rewrite rules: existing files are served, WordPress handles the rest.
file_put_contents(__DIR__ . '/access.log', $_SERVER['REQUEST_METHOD'] . ' ' . $_SERVER['REQUEST_URI'] . "\\n", FILE_APPEND | LOCK_EX);
$path = rawurldecode(parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH) ?: '/');
$file = $_SERVER['DOCUMENT_ROOT'] . $path;
if ($path !== '/' && (is_file($file) || is_file(rtrim($file, '/') . '/index.php'))) {
    return false;
}
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = '/index.php';
$_SERVER['SCRIPT_FILENAME'] = $_SERVER['DOCUMENT_ROOT'] . '/index.php';
require $_SERVER['SCRIPT_FILENAME'];
`

/** `wp-config.php`: no scheduled work, no update, no request to the outside. */
export function configuration(site: { publicUrl: string; socket: string; secret: string }): string {
  const keys = [
    'AUTH_KEY',
    'SECURE_AUTH_KEY',
    'LOGGED_IN_KEY',
    'NONCE_KEY',
    'AUTH_SALT',
    'SECURE_AUTH_SALT',
    'LOGGED_IN_SALT',
    'NONCE_SALT',
  ]
  return `<?php
define('DB_NAME', 'wordpress');
define('DB_USER', 'root');
define('DB_PASSWORD', '');
define('DB_HOST', ${literal(`localhost:${site.socket}`)});
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
${keys.map((key) => `define('${key}', ${literal(`${key} ${site.secret}`)});`).join('\n')}
define('WP_HOME', ${literal(site.publicUrl)});
define('WP_SITEURL', ${literal(site.publicUrl)});
define('DISABLE_WP_CRON', true);
define('AUTOMATIC_UPDATER_DISABLED', true);
define('WP_HTTP_BLOCK_EXTERNAL', true);
define('DISALLOW_FILE_MODS', true);
$table_prefix = 'wp_';
if (!defined('ABSPATH')) { define('ABSPATH', __DIR__ . '/'); }
require_once ABSPATH . 'wp-settings.php';
`
}

/** Creates the database, installs WordPress and fills it. */
export function installation(site: {
  publicUrl: string
  theme: string
  user: string
  password: string
  displayName: string
}): string {
  return `<?php
$_SERVER['HTTP_HOST'] = ${literal(new URL(site.publicUrl).host)};
$_SERVER['REQUEST_URI'] = '/';
$_SERVER['SERVER_PROTOCOL'] = 'HTTP/1.1';
define('WP_INSTALLING', true);
$config = file_get_contents(__DIR__ . '/site/wp-config.php');
preg_match("/'DB_HOST', 'localhost:([^']+)'/", $config, $socket);
(new mysqli('localhost', 'root', '', '', 0, $socket[1]))->query('CREATE DATABASE wordpress CHARACTER SET utf8mb4');
require __DIR__ . '/site/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
// The installation would ask itself over HTTP whether rewriting works; it is not up yet.
add_filter('pre_http_request', fn() => new WP_Error('offline', 'no requests'));
wp_install('Wool & Linen', 'admin', 'admin@shop.example', true, '', ${literal(site.password)}, '');
switch_theme(${literal(site.theme)});
update_option('permalink_structure', '/%postname%/');
update_option('posts_per_page', 10);
// Their image host is drawn by lot at each request.
update_option('show_avatars', 0);
$GLOBALS['wp_rewrite']->init();
flush_rewrite_rules(false);

$editor = wp_insert_user(['user_login' => ${literal(site.user)}, 'user_pass' => ${literal(site.password)},
    'user_email' => 'editor@shop.example', 'display_name' => ${literal(site.displayName)}, 'role' => 'editor']);
$categories = array_map(fn($name) => wp_create_category($name), ['Knitting', 'Weaving', 'Größen & Maße']);
for ($i = 1; $i <= 25; $i++) {
    $paragraph = str_repeat("Merino wool number $i is soft, warm & “honest” – für 19,99 €. ", 12);
    $post = wp_insert_post([
        'post_title' => "Story $i: wool, linen & Größe", 'post_name' => "story-$i", 'post_status' => 'publish',
        'post_date' => sprintf('2026-01-%02d 10:00:00', $i), 'post_author' => $editor,
        'post_category' => [$categories[$i % 3]],
        'post_content' => str_repeat("<!-- wp:paragraph --><p>$paragraph</p><!-- /wp:paragraph -->\\n", 8),
    ], true);
    if (is_wp_error($post)) { fwrite(STDERR, $post->get_error_message()); exit(1); }
    wp_insert_comment(['comment_post_ID' => $post, 'comment_author' => 'Reader', 'comment_content' => "Comment on $i",
        'comment_date' => '2026-02-01 09:00:00', 'comment_approved' => 1]);
}
foreach (['About us', 'Shipping', 'Contact', 'Imprint'] as $title) {
    wp_insert_post(['post_type' => 'page', 'post_title' => $title, 'post_status' => 'publish', 'post_author' => $editor,
        'post_date' => '2026-01-02 08:00:00', 'post_content' => "<!-- wp:paragraph --><p>$title.</p><!-- /wp:paragraph -->"]);
}
`
}

/** A PHP string literal of any text. */
function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
