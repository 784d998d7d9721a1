"""`fumehood image`: build agent images and check that they speak the protocol."""

from __future__ import annotations

from pathlib import Path

import click

from harness.cli.options import FORMAT


@click.group()
def image() -> None:
    """Build agent images and check that they speak the protocol.

    \b
    Example:
      fumehood image build agent-images/python
      fumehood image check fumehood/python
    """


@image.command()
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("-t", "--tag", help="Name of the image.  [default: fumehood/<its name>]")
@click.option("--build-arg", "build_args", metavar="KEY=VALUE", multiple=True, help="Set an ARG of the Dockerfile.")
def build(folder: Path, tag: str | None, build_args: tuple[str, ...]) -> None:
    """Build the agent in DIR, by its Dockerfile or its agent.yaml (docs/adapters.md), and what it stands on of ours.

    Prints the image's name and id.

    \b
    Example:
      fumehood image build agent-images/reference-support
    """
    from harness.app import images

    ref, digest = images.build(folder, tag, dict(_pair(text) for text in build_args))
    click.echo(f"{ref} {digest}")


@image.command()
@click.argument("target", metavar="IMAGE")
@FORMAT
@click.pass_context
def check(ctx: click.Context, target: str, form: str) -> None:
    """Run the protocol's golden dialogues against IMAGE (a name, or a folder to build).

    Exits 1 where the image does not conform.

    \b
    Example:
      fumehood image check fumehood/python
    """
    from harness.app import check as checking
    from harness.app import images
    from harness.report.terminal import one_line

    results = checking.check_image(images.resolve_agent(target))
    if form == "json":
        import msgspec

        click.echo(msgspec.json.format(msgspec.json.encode(results), indent=2).decode())
    else:
        for result in results:
            mark = click.style("pass", fg="green") if result.passed else click.style("FAIL", fg="red")
            click.echo(f"{mark}  {one_line(result.name)}  {one_line(result.reason)}".rstrip())
    if not results or not all(result.passed for result in results):
        ctx.exit(1)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise click.UsageError(f"--build-arg wants KEY=VALUE, not {text!r}")
    return key, value
