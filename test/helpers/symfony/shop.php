<?php
// A shop on Symfony's kernel: pages with `render_esi`, `xkey` and lifetimes, as Shopware's are. Router script of PHP's own web server.
// State is in the directory SHOP_DIR: `texts.json` has what the pages show, `access.log` the paths of all requests.

namespace Shop;

require '/usr/share/php/Symfony/Bundle/FrameworkBundle/autoload.php';
require '/usr/share/php/Symfony/Bundle/TwigBundle/autoload.php';

use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Bundle\TwigBundle\TwigBundle;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Response;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;

class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable
    {
        return [new FrameworkBundle(), new TwigBundle()];
    }

    public function getProjectDir(): string
    {
        return __DIR__;
    }

    public function getCacheDir(): string
    {
        return getenv('SHOP_DIR').'/cache';
    }

    public function getLogDir(): string
    {
        return getenv('SHOP_DIR');
    }

    protected function configureContainer(ContainerConfigurator $container): void
    {
        $container->extension('framework', [
            'secret' => 'wool', 'esi' => true, 'fragments' => ['path' => '/_fragment'], 'http_method_override' => false,
        ]);
        $container->extension('twig', ['default_path' => '%kernel.project_dir%/templates']);
    }

    protected function configureRoutes(RoutingConfigurator $routes): void
    {
        $routes->add('header', '/_esi/global/header')->controller('kernel::header');
        $routes->add('basket', '/_esi/basket')->controller('kernel::basket');
        $routes->add('broken', '/_esi/broken')->controller('kernel::broken');
        $routes->add('page', '/{name}')->controller('kernel::page')->requirements(['name' => '[\w-]*']);
    }

    public function page(string $name): Response
    {
        $texts = $this->texts();
        $values = ['name' => $name, 'parts' => $texts['parts'][$name] ?? [], 'review' => $texts['review'] ?? ''];
        return $this->answer('page.html.twig', $values, "page-$name");
    }

    public function header(): Response
    {
        usleep(1000 * ($this->texts()['delay'] ?? 0));
        return $this->answer('part.html.twig', ['text' => $this->texts()['header']], 'menu');
    }

    public function footer(): Response
    {
        return $this->answer('part.html.twig', ['text' => $this->texts()['footer']], 'footer');
    }

    public function basket(Request $request): Response
    {
        return new Response('basket of '.$request->cookies->get('name', 'nobody'), 200, ['Cache-Control' => 'private, no-store']);
    }

    public function broken(): Response
    {
        return new Response('a stack trace', 500);
    }

    private function answer(string $template, array $values, string $tag): Response
    {
        $response = new Response($this->getContainer()->get('twig')->render($template, $values));
        $response->setPublic()->setSharedMaxAge(3600);
        $response->setEtag(md5($response->getContent()));
        $response->headers->set('xkey', $tag);
        return $response;
    }

    private function texts(): array
    {
        return json_decode(file_get_contents(getenv('SHOP_DIR').'/texts.json'), true);
    }
}

file_put_contents(getenv('SHOP_DIR').'/access.log', strtok($_SERVER['REQUEST_URI'], '?')."\n", FILE_APPEND | LOCK_EX);
$kernel = new Kernel('prod', false);
$request = Request::createFromGlobals();
$response = $kernel->handle($request);
$response->send();
$kernel->terminate($request, $response);
